// Package pgstate keeps a state in a table of a PostgreSQL database. A write is
// one transaction under an advisory lock, in which the serial is compared: the
// database ends both when the client dies.
package pgstate

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/overbrainer/overbrainer/state"
)

// Config is the backend block, by Terraform's names. What the connection string
// leaves out comes from PGHOST, PGUSER, PGPASSWORD and the others, and from
// ~/.pgpass.
type Config struct {
	ConnStr            string // URL or key=value list; "" = all from the environment
	SchemaName         string // default DefaultSchema; one for each project
	SkipSchemaCreation bool   // it is there
	SkipTableCreation  bool   // so is the table
}

// DefaultSchema is where the table is unless configured.
const DefaultSchema = "overbrainer_remote_state"

// Backend is the place. See state.Backend.
type Backend struct {
	cfg   Config
	conn  *pgx.ConnConfig
	table string // quoted
	key   int64  // of the advisory lock
	where string
}

// New checks the configuration; no connection is made yet.
func New(cfg Config) (*Backend, error) {
	if cfg.SchemaName == "" {
		cfg.SchemaName = DefaultSchema
	}
	conn, err := pgx.ParseConfig(cfg.ConnStr)
	if err != nil {
		return nil, errors.New("conn_str is not a PostgreSQL connection string such as postgres://user@host/database (its error is not shown, it may quote a password)")
	}
	// Statements that are not prepared pass any connection pooler.
	conn.DefaultQueryExecMode = pgx.QueryExecModeExec
	name := pgx.Identifier{cfg.SchemaName, "states"}.Sanitize()
	sum := sha256.Sum256([]byte("overbrainer state " + name))
	return &Backend{
		cfg: cfg, conn: conn, table: name,
		key:   int64(binary.BigEndian.Uint64(sum[:8])),
		where: fmt.Sprintf("postgres %s on %s, schema %s", conn.Database, conn.Host, cfg.SchemaName),
	}, nil
}

// Where names database, host and schema.
func (b *Backend) Where() string { return b.where }

// open connects. Writes are rare, so no connection is kept between them.
func (b *Backend) open(ctx context.Context) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, b.conn)
	if err != nil {
		return nil, b.wrong("connecting", err)
	}
	return conn, nil
}

// Read gets the document.
func (b *Backend) Read(ctx context.Context) ([]byte, error) {
	conn, err := b.open(ctx)
	if err != nil {
		return nil, err
	}
	defer shut(ctx, conn)
	return b.read(ctx, conn)
}

type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func (b *Backend) read(ctx context.Context, q querier) ([]byte, error) {
	var data []byte
	err := q.QueryRow(ctx, "SELECT data FROM "+b.table+" WHERE name = 'default'").Scan(&data)
	switch {
	case errors.Is(err, pgx.ErrNoRows), sqlState(err) == undefinedTable, sqlState(err) == undefinedSchema:
		return nil, nil
	case err != nil:
		return nil, b.wrong("reading", err)
	}
	return data, nil
}

// idleLimit ends a transaction whose client was cut off, in milliseconds.
const idleLimit = "120000"

// Begin takes the advisory lock in a transaction.
func (b *Backend) Begin(ctx context.Context, lock state.Lock) (state.Transaction, error) {
	conn, err := b.open(ctx)
	if err != nil {
		return nil, err
	}
	t, err := b.begin(ctx, conn, lock)
	if err != nil {
		shut(ctx, conn)
		return nil, err
	}
	return t, nil
}

func (b *Backend) begin(ctx context.Context, conn *pgx.Conn, lock state.Lock) (*transaction, error) {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return nil, b.wrong("beginning", err)
	}
	var got bool
	err = tx.QueryRow(ctx, `SELECT set_config('application_name', $1, true) IS NOT NULL
		AND set_config('idle_in_transaction_session_timeout', $2, true) IS NOT NULL
		AND pg_try_advisory_xact_lock($3)`, label(lock), idleLimit, b.key).Scan(&got)
	if err != nil {
		return nil, b.wrong("locking", err)
	}
	if !got {
		held, err := b.holder(ctx, tx)
		if err != nil {
			return nil, err
		}
		return nil, &state.HeldError{Lock: held}
	}
	if err := b.prepare(ctx, tx); err != nil {
		return nil, err
	}
	return &transaction{b: b, conn: conn, tx: tx}, nil
}

// prepare makes the table where it is missing, under the lock, so that two do
// not make it at once.
func (b *Backend) prepare(ctx context.Context, tx pgx.Tx) error {
	var there bool
	if err := tx.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", b.table).Scan(&there); err != nil {
		return b.wrong("looking for the table", err)
	}
	if there {
		return nil
	}
	if !b.cfg.SkipSchemaCreation {
		if _, err := tx.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+pgx.Identifier{b.cfg.SchemaName}.Sanitize()); err != nil {
			return b.wrong("making the schema", err)
		}
	}
	if b.cfg.SkipTableCreation {
		return &state.BackendError{Trouble: state.Missing, Where: b.where, Err: fmt.Errorf("there is no table %s", b.table), Hint: "make it, or leave skip_table_creation out"}
	}
	_, err := tx.Exec(ctx, "CREATE TABLE IF NOT EXISTS "+b.table+` (
		name text PRIMARY KEY, lineage text NOT NULL, serial bigint NOT NULL,
		data bytea NOT NULL, written_at timestamptz NOT NULL DEFAULT now())`)
	if err != nil {
		return b.wrong("making the table", err)
	}
	return nil
}
