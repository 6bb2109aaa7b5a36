package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/overbrainer/overbrainer/config"
	"github.com/overbrainer/overbrainer/state"
)

// moving is what init does about a backend that has changed.
type moving struct{ migrate, reconfigure, force bool }

func (m *moving) register(f *flags) {
	f.boolean(&m.migrate, "migrate-state", "copy the state to the backend of the configuration")
	f.boolean(&m.reconfigure, "reconfigure", "use the backend of the configuration, with the state that is there")
	f.boolean(&m.force, "force-copy", "with -migrate-state: do not ask")
}

// readyBackend makes the directory ready for the configured backend.
func (a *app) readyBackend(ctx context.Context, b config.Backend, m moving) error {
	if m.migrate && m.reconfigure {
		return &usageError{text: "-migrate-state and -reconfigure exclude each other"}
	}
	to, err := a.openBackend(b, 0)
	if err != nil {
		return err
	}
	if m.reconfigure {
		return a.reconfigure(ctx, b, to)
	}
	record, err := a.readBackendRecord()
	if err != nil {
		return err
	}
	if recordOf(b).same(record) {
		if b.Type == "local" {
			return nil
		}
		_, err := to.Read(ctx)
		return err
	}
	from, err := a.openBackend(record.backend(), 0)
	if err != nil {
		return err
	}
	old, err := from.Read(ctx)
	if err != nil {
		return record.unread(err, m.migrate)
	}
	if old.Serial > 0 {
		return a.migrate(ctx, migration{from: from, to: to, old: old, backend: b}, m)
	}
	if _, err := to.Read(ctx); err != nil {
		return err
	}
	return a.useBackend(b, to)
}

// unread says that the state in use so far cannot be read, and what that may
// hang on.
func (r backendRecord) unread(err error, migrating bool) error {
	p := &problem{code: describe(err).Code, message: "the state in use so far cannot be read: " + err.Error(), hint: describe(err).Hint}
	if !migrating {
		p.code, p.message = "backend_changed", "the backend has changed, and "+p.message
		p.hint = "with that place in reach overbrainer init -migrate-state copies its state over; overbrainer init -reconfigure leaves it and uses what is in the new one"
	}
	if len(r.Withheld) > 0 {
		p.hint += fmt.Sprintf("; what is secret in %s is not kept of the block before: set %s", strings.Join(r.Withheld, ", "), r.credentials())
	}
	return p
}

// credentials names the variables that stand for what was withheld.
func (r backendRecord) credentials() string {
	switch {
	case r.Type == "http":
		return "OVERBRAINER_HTTP_PASSWORD or OVERBRAINER_HTTP_CLIENT_PRIVATE_KEY_PEM"
	case r.Type == "s3":
		return "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
	case r.Values["conn_str"] == nil:
		return "PG_CONN_STR"
	}
	return "PGPASSWORD"
}

// reconfigure takes the configured backend as it is.
func (a *app) reconfigure(ctx context.Context, b config.Backend, to keeper) error {
	// Which project's state it was so far does not count any more.
	if err := state.Forget(a.dir); err != nil {
		return err
	}
	if _, err := to.Read(ctx); err != nil {
		return err
	}
	return a.useBackend(b, to)
}

func (a *app) useBackend(b config.Backend, at keeper) error {
	if err := a.writeBackendRecord(recordOf(b)); err != nil {
		return err
	}
	fmt.Fprintln(a.out, "The state is kept in "+at.Where()+".")
	return nil
}

// migration is one copying of a state.
type migration struct {
	from, to keeper
	old      *state.State
	backend  config.Backend
}

// migrate copies the state and uses the copy. The one that was in use stays as
// it is, and one of this project that is replaced is saved.
func (a *app) migrate(ctx context.Context, m migration, how moving) error {
	what := fmt.Sprintf("the state (serial %d, %d entries) from %s to %s", m.old.Serial, len(m.old.Resources), m.from.Where(), m.to.Where())
	if !how.migrate {
		return &problem{code: "backend_changed", message: "the backend has changed, and there is a state in " + m.from.Where(),
			hint: "overbrainer init -migrate-state copies it to " + m.to.Where() + "; overbrainer init -reconfigure leaves it and uses what is there"}
	}
	if err := a.idle(m.old); err != nil {
		return err
	}
	if err := a.mayReplace(ctx, m); err != nil {
		return err
	}
	if !how.force {
		if !a.asks(true) {
			return noTerminal("whether to copy "+what, "-force-copy")
		}
		if err := a.confirm(ctx, false, "It copies "+what+".\nThe copy there is used from now on, everywhere; the old one stays as it is.\n"); err != nil {
			return err
		}
	}
	if err := m.to.Push(ctx, m.old, false); err != nil {
		return err
	}
	// Whoever has not heard of the move may have written meanwhile.
	now, err := m.from.Read(ctx)
	if err != nil {
		return err
	}
	if now.Serial != m.old.Serial {
		return &problem{code: "backend_changed", message: fmt.Sprintf("somebody wrote to %s while it was copied: serial %d, the copy has %d", m.from.Where(), now.Serial, m.old.Serial),
			hint: "this directory still uses the old place; run overbrainer init -migrate-state again when nobody works"}
	}
	return a.useBackend(m.backend, m.to)
}

// idle refuses to move a state that somebody works on.
func (a *app) idle(st *state.State) error {
	copied, err := st.Clone()
	if err != nil {
		return err
	}
	_, _, err = copied.Claim(slices.Collect(maps.Keys(st.Claims)), "init", holder(), a.now())
	return err
}

// mayReplace refuses a place that holds another project's state, or a newer one
// of this project.
func (a *app) mayReplace(ctx context.Context, m migration) error {
	there, err := m.to.Read(ctx)
	var other *state.ReplacedError
	if errors.As(err, &other) && other.Lineage != "" {
		there, err = &state.State{Lineage: other.Lineage, Serial: other.Serial}, nil
	}
	switch {
	case err != nil:
		return err
	case there.Serial > 0 && there.Lineage != m.old.Lineage:
		return &problem{code: "other_state", message: fmt.Sprintf("%s holds the state of another project (lineage %s, this one's is %s): nothing was copied", m.to.Where(), there.Lineage, m.old.Lineage),
			hint: "give this project a place of its own in the backend block"}
	case there.Serial > m.old.Serial:
		return &problem{code: "other_state", message: fmt.Sprintf("the state in %s is newer: serial %d, the one here has %d; nothing was copied", m.to.Where(), there.Serial, m.old.Serial),
			hint: "overbrainer init -reconfigure uses it"}
	}
	return a.idle(there)
}
