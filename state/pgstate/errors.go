package pgstate

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/overbrainer/overbrainer/state"
)

// SQLSTATEs, from PostgreSQL's appendix A.
const (
	undefinedTable   = "42P01"
	undefinedSchema  = "3F000"
	noPrivilege      = "42501"
	noDatabase       = "3D000"
	wrongPassword    = "28P01"
	notAuthorized    = "28000"
	classConnection  = "08"
	classShutdown    = "57P"
	classTooMany     = "53"
	tooManyConnected = "53300"
)

// sqlState gives the database's code of an error, "" when it gave none.
func sqlState(err error) string {
	var answered *pgconn.PgError
	if errors.As(err, &answered) {
		return answered.Code
	}
	return ""
}

// wrong words what a call failed with. The database's own message may quote
// data, and is left out.
func (b *Backend) wrong(doing string, err error) error {
	if errors.Is(err, context.Canceled) {
		return context.Canceled
	}
	e := &state.BackendError{Trouble: state.Refused, Where: b.where}
	code := sqlState(err)
	switch {
	case code == noDatabase:
		e.Trouble, e.Hint = state.Missing, "make the database first, or correct conn_str"
	case code == undefinedSchema, code == undefinedTable:
		e.Trouble, e.Hint = state.Missing, "make the schema, or leave skip_schema_creation out"
	case code == wrongPassword, code == notAuthorized:
		e.Trouble, e.Hint = state.Denied, "PGUSER and PGPASSWORD, or ~/.pgpass, say who connects"
	case code == noPrivilege:
		e.Trouble, e.Hint = state.Denied, "the user needs CREATE on the database the first time, later only USAGE on the schema and SELECT, INSERT, UPDATE on the table"
	case code == "", starts(code, classConnection), starts(code, classShutdown), starts(code, classTooMany):
		e.Trouble, e.Hint = state.Unreachable, "is the server up, and the host in conn_str or PGHOST right?"
		if code == tooManyConnected {
			e.Hint = "the server has no connection left"
		}
	}
	if code != "" {
		e.Err = fmt.Errorf("%s was answered with SQLSTATE %s", doing, code)
	} else {
		e.Err = fmt.Errorf("%s: %w", doing, network(err))
	}
	return e
}

func starts(code, class string) bool { return len(code) >= len(class) && code[:len(class)] == class }

// network leaves out what pgx says of user and database around an error of the
// network.
func network(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op
	}
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err
}
