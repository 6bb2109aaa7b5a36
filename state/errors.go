package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// ReadError says that the state file is there and cannot be read: a
// directory, no permission, a link to nowhere.
type ReadError struct {
	Path string
	Err  error
}

func (e *ReadError) Error() string {
	if errors.Is(e.Err, fs.ErrPermission) {
		return fmt.Sprintf("state file %s cannot be read: %v; nothing was done, whoever owns it and the directories above it has to let this user read it", e.Path, cause(e.Err))
	}
	return fmt.Sprintf("state file %s cannot be read: %v; nothing was done, put the file back (a copy of the one before is beside it as %s)",
		e.Path, cause(e.Err), backupSuffix)
}

func (e *ReadError) Unwrap() error { return e.Err }

// DamagedError says that a state file was read and is no state: cut off,
// edited wrongly, or something else altogether.
type DamagedError struct {
	Path string
	Err  error
	// Backup names the copy of the one before, "" if there is none.
	Backup string
}

func (e *DamagedError) Error() string {
	s := fmt.Sprintf("state file %s is damaged: %v; nothing was done and the file is unchanged, restore it", e.Path, e.Err)
	if e.Backup != "" {
		s += " (a copy of the one before is " + e.Backup + ")"
	}
	return s
}

func (e *DamagedError) Unwrap() error { return e.Err }

// NewerError says that the state was written in a format that this program
// does not know.
type NewerError struct {
	Path    string
	Version int
	// By is the overbrainer version that wrote it, "" if it does not say.
	By string
}

func (e *NewerError) Error() string {
	by := ""
	if e.By != "" {
		by = " by overbrainer " + e.By
	}
	return fmt.Sprintf("state file %s has format version %d, written%s; this overbrainer knows versions up to %d: install the newer one, the file is unchanged",
		e.Path, e.Version, by, Version)
}

// ReplacedError says that the file holds another state than the one that was
// there before: another lineage, an older serial, or the same serial with
// other contents.
type ReplacedError struct {
	Path        string
	WantLineage string
	Lineage     string // "" when the file is gone
	WantSerial  uint64
	Serial      uint64
	// Pin is the file that remembers WantLineage between commands; "" when it
	// was seen by this process.
	Pin string
	// Saved names the copy of what was to be written, "" if there is none.
	Saved string
}

func (e *ReplacedError) Error() string {
	var b strings.Builder
	switch {
	case e.Lineage == "":
		fmt.Fprintf(&b, "state file %s has gone while it was in use (lineage %s, serial %d)", e.Path, e.WantLineage, e.WantSerial)
	case e.Lineage != e.WantLineage:
		fmt.Fprintf(&b, "state file %s belongs to another project: its lineage is %s, this project's is %s", e.Path, e.Lineage, e.WantLineage)
	case e.Serial < e.WantSerial:
		fmt.Fprintf(&b, "state file %s was replaced by an older one: serial %d, it had %d", e.Path, e.Serial, e.WantSerial)
	default:
		fmt.Fprintf(&b, "state file %s was replaced by another one with the same serial %d", e.Path, e.Serial)
	}
	b.WriteString("; the file is unchanged")
	if e.Pin != "" {
		fmt.Fprintf(&b, "; put the right one back, or remove %s if the change was meant", e.Pin)
	} else {
		b.WriteString("; put the right one back")
	}
	if e.Saved != "" {
		fmt.Fprintf(&b, "; what was to be written is in %s", e.Saved)
	}
	return b.String()
}

func (e *ReplacedError) savedIn(place string, _ error) { e.Saved = place }

// WriteError says that a state could not be written. The file before it is
// whole.
type WriteError struct {
	Path string
	Err  error
	// Saved names where the pending state was saved: a file, or "standard
	// error". "" when there was nothing to save or nowhere to save it, and then
	// SaveErr says why.
	Saved   string
	SaveErr error
	// Unsure says that the answer to the write was lost and could not be read
	// back: it may have been done.
	Unsure bool
}

func (e *WriteError) savedIn(place string, err error) { e.Saved, e.SaveErr = place, err }

func (e *WriteError) Error() string {
	s := fmt.Sprintf("state cannot be written to %s: %v; the one before is whole", e.Path, cause(e.Err))
	if e.Unsure {
		s = fmt.Sprintf("state was sent to %s and it is not known whether it was written: %v", e.Path, cause(e.Err))
	}
	switch {
	case e.Saved != "":
		s += fmt.Sprintf("; what was to be written is in %s, take it over with: overbrainer state push FILE", e.Saved)
	case e.SaveErr != nil:
		s += fmt.Sprintf("; what was to be written could not be saved elsewhere either: %v", cause(e.SaveErr))
	}
	return s
}

func (e *WriteError) Unwrap() error { return e.Err }

// NoLocksError says that the file system of the state does not lock files.
type NoLocksError struct {
	Dir string
	Err error
	// Saved names the copy of what was to be written, "" if there is none.
	Saved string
}

func (e *NoLocksError) Error() string {
	return fmt.Sprintf("the file system of %s has no file locks (%v), so two commands could overwrite each other's state; keep the project on a local disk or on a network file system with locks%s",
		e.Dir, cause(e.Err), savedNote(e.Saved))
}

func (e *NoLocksError) Unwrap() error { return e.Err }

func (e *NoLocksError) savedIn(place string, _ error) { e.Saved = place }

// LockedError says that another process held the transaction lock all the
// time that was waited.
type LockedError struct {
	Path   string
	Waited time.Duration
	// Holder is what the holder wrote of itself, empty if it wrote nothing.
	Holder LockHolder
	// ID ends the lock by force where it outlives its holder; "" = it cannot.
	ID string
	// Saved names the copy of what was to be written, "" if there is none.
	Saved string
}

func (e *LockedError) Error() string {
	s := fmt.Sprintf("state lock %s is held by another process", e.Path)
	if e.Holder.Who != "" {
		s += fmt.Sprintf(" (%s@%s, pid %d, since %s)", e.Holder.Who, e.Holder.Host, e.Holder.PID, e.Holder.Since.UTC().Format(time.RFC3339))
	}
	s += fmt.Sprintf("; gave up after %s", e.Waited)
	if e.ID != "" {
		s += "; if that process is gone for good: " + e.UnlockCommand()
	}
	return s + savedNote(e.Saved)
}

func (e *LockedError) savedIn(place string, _ error) { e.Saved = place }

// UnlockCommand is what ends the lock by force.
func (e *LockedError) UnlockCommand() string { return "overbrainer force-unlock " + e.ID }

func savedNote(saved string) string {
	if saved == "" {
		return ""
	}
	return "; what was to be written is in " + saved
}

// cause drops the path that os errors repeat.
func cause(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
