package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// write adds what changed to the journal, where there is one that is not longer
// than the document yet, or else writes everything. The caller holds the lock.
func (l *LocalStore) write(cur loaded, p prepared) (loaded, error) {
	l.backup(cur)
	session := l.inSession() && !p.last
	if session && cur.journal != "" && cur.size < int64(cur.doc.size) && !p.all {
		text := line(p.encoded)
		if l.sys.append(cur.journalPath(), cur.size, text) == nil {
			cur.state, cur.size = p.next, cur.size+int64(len(text))
			return cur, nil
		} // a journal that cannot be written is left for a new document
	}
	return l.writeWhole(cur, p.next, session && cur.doc.size > 0 && cur.doc.size >= l.journalFrom)
}

// writeWhole replaces the state file by a whole document: a new file beside it,
// made durable, takes its name. One with a journal names it, and has it before.
func (l *LocalStore) writeWhole(cur loaded, next *State, journaled bool) (loaded, error) {
	after := loaded{path: cur.path, state: next, version: Version}
	document := next
	if journaled {
		after.journal = newClaimID()
		document = next.shallow()
		document.Version, document.Journal = journaledVersion, after.journal
	}
	data, err := Encode(document)
	if err != nil {
		return cur, err
	}
	after.doc = printOf(data)
	if err = l.beginJournal(after); err == nil {
		err = l.replace(cur, data)
	}
	if err != nil {
		dropJournals(cur.path, cur.journal)
		return cur, &WriteError{Path: l.path, Err: err}
	}
	if err = l.sys.syncDir(filepath.Dir(after.path)); err != nil {
		return cur, &WriteError{Path: l.path, Err: err} // either may lie there: both keep their journals
	}
	dropJournals(after.path, after.journal)
	return after, nil
}

// beginJournal makes an empty journal, where the document is to have one.
func (l *LocalStore) beginJournal(after loaded) error {
	if after.journal == "" {
		return nil
	}
	if err := l.sys.write(after.journalPath(), nil); err != nil {
		return err
	}
	return l.sys.syncDir(filepath.Dir(after.path))
}

// backup keeps the state from before the first write of this store, which is the
// one from before the command.
func (l *LocalStore) backup(cur loaded) {
	if !l.wrote.Swap(true) && cur.doc.size > 0 {
		cur.keep(backupSuffix)
	}
}

// replace puts a document in the place of what was loaded. The directory is not
// synced yet.
func (l *LocalStore) replace(cur loaded, data []byte) error {
	temp := filepath.Join(filepath.Dir(cur.path), tempName)
	_ = os.Remove(temp) // of a process that was killed while it wrote
	if err := l.sys.write(temp, data); err != nil {
		_ = os.Remove(temp)
		return err
	}
	if cur.doc.size > 0 && cur.version < Version {
		cur.keep(fmt.Sprintf(".v%d%s", cur.version, backupSuffix))
	}
	err := l.sys.rename(temp, cur.path)
	if err != nil {
		_ = os.Remove(temp)
	}
	return err
}

// keep keeps what was loaded under another name. One that cannot be kept
// does not stop a write: recording what exists matters more.
func (cur loaded) keep(suffix string) {
	backup := cur.path + suffix
	temp := backup + ".tmp"
	_ = os.Remove(temp)
	if cur.journal != "" || os.Link(cur.path, temp) != nil {
		data, err := cur.document()
		if err != nil || writeDurable(temp, data) != nil {
			_ = os.Remove(temp)
			return
		}
	}
	_ = os.Chmod(temp, 0o600)
	if rename(temp, backup) != nil {
		_ = os.Remove(temp)
	}
}

// document gives what was loaded as one document. One with a journal is none by
// itself.
func (cur loaded) document() ([]byte, error) {
	if cur.journal != "" {
		return Encode(cur.state)
	}
	return os.ReadFile(cur.path)
}

// writeDurable makes a new file of mode 0600, whatever the umask, and returns
// when its contents are on the disk.
func writeDurable(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err = file.Chmod(0o600); err == nil {
		if _, err = file.Write(data); err == nil {
			err = file.Sync()
		}
	}
	return errors.Join(err, file.Close())
}
