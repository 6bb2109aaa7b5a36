package pgstate_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/overbrainer/overbrainer/state"
	"github.com/overbrainer/overbrainer/state/pgstate"
	"github.com/overbrainer/overbrainer/state/statetest"
)

func TestMain(m *testing.M) {
	statetest.Main(m, func(args string) (state.Backend, error) {
		conn, schema, _ := strings.Cut(args, "|")
		return pgstate.New(pgstate.Config{ConnStr: conn, SchemaName: schema})
	})
}

func server(t *testing.T) *statetest.Postgres {
	t.Helper()
	p, err := statetest.StartPostgres()
	if errors.Is(err, statetest.ErrNoPostgres) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	t.Setenv("PGPASSWORD", p.Password)
	return p
}

func open(t *testing.T, cfg pgstate.Config) *pgstate.Backend {
	t.Helper()
	b, err := pgstate.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestConformance(t *testing.T) {
	pg := server(t)
	var places atomic.Int64
	statetest.RunRemote(t, func(t *testing.T) statetest.RemotePlace {
		proxy := statetest.NewProxy(t, pg.Addr)
		conn, schema := pg.ConnStr(proxy.Addr()), fmt.Sprintf("project-%d", places.Add(1))
		return statetest.RemotePlace{
			Backend: func() state.Backend { return open(t, pgstate.Config{ConnStr: conn, SchemaName: schema}) },
			Proxy:   proxy,
			Write:   "commit",
			Put:     func(t *testing.T, data []byte) { put(t, pg, schema, data) },
			Args:    conn + "|" + schema,
		}
	})
}

// put replaces the document, or makes the table and puts it there.
func put(t *testing.T, pg *statetest.Postgres, schema string, data []byte) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), pg.ConnStr(pg.Addr))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	table := pgx.Identifier{schema, "states"}.Sanitize()
	tag, err := conn.Exec(t.Context(), "UPDATE "+table+" SET data = $1", data)
	if err == nil && tag.RowsAffected() == 1 {
		return
	}
	tx, err := open(t, pgstate.Config{ConnStr: pg.ConnStr(pg.Addr), SchemaName: schema}).Begin(t.Context(), state.Lock{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.End(t.Context()) }()
	if _, err := tx.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := tx.Write(t.Context(), data); err != nil {
		t.Fatal(err)
	}
}

func TestWhatCannotBeUsed(t *testing.T) {
	pg := server(t)
	where := pg.ConnStr(pg.Addr)
	begin := func(b *pgstate.Backend) error {
		tx, err := b.Begin(t.Context(), state.Lock{ID: "1"})
		if err == nil {
			_ = tx.End(t.Context())
		}
		return err
	}
	const wrong = "s3cr3t-word"
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody.Close()
	for name, test := range map[string]struct {
		cfg     pgstate.Config
		trouble state.Trouble
		words   string
	}{
		"wrong password": {pgstate.Config{ConnStr: strings.Replace(where, "@", ":"+wrong+"@", 1)}, state.Denied, "PGPASSWORD"},
		"no database":    {pgstate.Config{ConnStr: strings.Replace(where, "/postgres?", "/nothing?", 1)}, state.Missing, "database"},
		"no table":       {pgstate.Config{ConnStr: where, SkipTableCreation: true}, state.Missing, "skip_table_creation"},
		"no schema":      {pgstate.Config{ConnStr: where, SkipSchemaCreation: true}, state.Missing, "skip_schema_creation"},
		"no server":      {pgstate.Config{ConnStr: pg.ConnStr(nobody.Addr().String())}, state.Unreachable, "PGHOST"},
	} {
		err := begin(open(t, test.cfg))
		var told *state.BackendError
		if !errors.As(err, &told) || told.Trouble != test.trouble || !strings.Contains(told.Hint, test.words) {
			t.Errorf("%s: %v (%+v)", name, err, told)
			continue
		}
		if text := told.Error() + told.Hint; strings.Contains(text, wrong) || strings.Contains(text, pg.Password) {
			t.Errorf("%s: a password is in %s", name, text)
		}
	}
	_, err = pgstate.New(pgstate.Config{ConnStr: "postgres://ann:" + wrong + "@[/"})
	if err == nil || strings.Contains(err.Error(), wrong) {
		t.Errorf("a string that is none: %v", err)
	}
}

// Two projects in one database keep out of each other's way.
func TestSchemasAreApart(t *testing.T) {
	pg := server(t)
	stores := map[string]*state.RemoteStore{}
	for _, schema := range []string{"one", "two"} {
		b := open(t, pgstate.Config{ConnStr: pg.ConnStr(pg.Addr), SchemaName: schema})
		stores[schema] = state.Remote(b, state.RemoteOptions{Dir: t.TempDir(), Version: "test"})
	}
	for _, s := range stores {
		if _, err := s.Update(t.Context(), statetest.Count("n")); err != nil {
			t.Fatal(err)
		}
	}
	one, _ := stores["one"].Read(t.Context())
	two, _ := stores["two"].Read(t.Context())
	if one.Lineage == two.Lineage || one.Serial != 1 || two.Serial != 1 {
		t.Errorf("%s %d, %s %d", one.Lineage, one.Serial, two.Lineage, two.Serial)
	}
}
