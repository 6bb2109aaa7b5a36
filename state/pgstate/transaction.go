package pgstate

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/overbrainer/overbrainer/state"
)

type transaction struct {
	b    *Backend
	conn *pgx.Conn
	tx   pgx.Tx

	// there says that a document was read, was is what its row says of it.
	there bool
	was   head
}

// head is what of a document is compared.
type head struct {
	Lineage string `json:"lineage"`
	Serial  int64  `json:"serial"`
}

func (t *transaction) Read(ctx context.Context) ([]byte, error) {
	data, err := t.b.read(ctx, t.tx)
	if err != nil || data == nil {
		return nil, err
	}
	t.there = true
	err = t.tx.QueryRow(ctx, "SELECT lineage, serial FROM "+t.b.table+" WHERE name = 'default'").Scan(&t.was.Lineage, &t.was.Serial)
	if err != nil {
		return nil, t.b.wrong("reading", err)
	}
	return data, nil
}

// headOf reads a document's head.
func headOf(data []byte) head {
	var h head
	_ = json.Unmarshal(data, &h)
	return h
}

func (t *transaction) Write(ctx context.Context, data []byte) error {
	h := headOf(data)
	sql, args := "INSERT INTO "+t.b.table+` (name, lineage, serial, data) VALUES ('default', $1, $2, $3)
		ON CONFLICT (name) DO NOTHING`, []any{h.Lineage, h.Serial, data}
	if t.there {
		sql = "UPDATE " + t.b.table + ` SET lineage = $1, serial = $2, data = $3, written_at = now()
			WHERE name = 'default' AND lineage = $4 AND serial = $5`
		args = append(args, t.was.Lineage, t.was.Serial)
	}
	tag, err := t.tx.Exec(ctx, sql, args...)
	if err != nil {
		return t.failed(err)
	}
	if tag.RowsAffected() != 1 {
		return state.ErrMoved
	}
	if err := t.tx.Commit(ctx); err != nil {
		return t.failed(err)
	}
	return nil
}

// failed tells an answer of the database, which wrote nothing then, from one
// that was lost.
func (t *transaction) failed(err error) error {
	failure := t.b.wrong("writing", err)
	var e *state.BackendError
	if errors.As(failure, &e) && e.Trouble == state.Unreachable {
		return &state.UnsureError{Err: failure}
	}
	return failure
}

// End lets go of the lock with the connection.
func (t *transaction) End(ctx context.Context) error {
	_ = t.tx.Rollback(ctx)
	shut(ctx, t.conn)
	return nil
}

func shut(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}

// label is how a session names its holder, as long as PostgreSQL keeps names.
func label(lock state.Lock) string {
	return cut("overbrainer "+lock.Who, 63)
}

func cut(s string, most int) string {
	if len(s) > most {
		return s[:most]
	}
	return s
}

// holderQuery finds the session that holds the advisory lock.
const holderQuery = `SELECT a.pid, coalesce(a.application_name, ''), coalesce(a.xact_start, now())
	FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
	WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
	AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
	AND l.classid = $1::bigint::oid AND l.objid = $2::bigint::oid`

// holder tells who has the lock. The ID is the session's process on the server.
func (b *Backend) holder(ctx context.Context, q querier) (state.Lock, error) {
	var pid int
	lock := state.Lock{Operation: "update", Path: b.cfg.SchemaName}
	high, low := int64(uint64(b.key)>>32), int64(uint64(b.key)&0xffffffff)
	err := q.QueryRow(ctx, holderQuery, high, low).Scan(&pid, &lock.Who, &lock.Created)
	if errors.Is(err, pgx.ErrNoRows) { // let go just now
		return lock, nil
	}
	if err != nil {
		return lock, b.wrong("asking who holds the lock", err)
	}
	lock.ID = "session-" + strconv.Itoa(pid)
	const ours = "overbrainer "
	if len(lock.Who) > len(ours) && lock.Who[:len(ours)] == ours {
		lock.Who = lock.Who[len(ours):]
	}
	return lock, nil
}

// Unlock ends the session that holds the lock, where it is the one named.
func (b *Backend) Unlock(ctx context.Context, id string) error {
	conn, err := b.open(ctx)
	if err != nil {
		return err
	}
	defer shut(ctx, conn)
	held, err := b.holder(ctx, conn)
	if err != nil {
		return err
	}
	if held.ID == "" || held.ID != id {
		return &state.NoLockError{ID: id, Held: held.ID}
	}
	pid, _ := strconv.ParseInt(id[len("session-"):], 10, 32)
	var done bool
	if err := conn.QueryRow(ctx, "SELECT pg_terminate_backend($1)", int32(pid)).Scan(&done); err != nil {
		return b.wrong("ending the session", err)
	}
	return nil
}
