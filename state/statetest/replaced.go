package statetest

import (
	"errors"
	"strings"
	"testing"

	"github.com/overbrainer/overbrainer/state"
)

// refusesAll checks that neither reading nor writing goes on, with an error
// that matches, and that the document is left as it is.
func refusesAll(t *testing.T, p Place, store state.Store, put []byte, matches func(error) bool, words string) {
	t.Helper()
	p.Put(t, put)
	for what, err := range map[string]error{
		"read":   second(store.Read(t.Context())),
		"update": second(store.Update(t.Context(), Count("a"))),
	} {
		if err == nil || !matches(err) || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if s, err := state.Decode("again", put); err == nil {
		if got := read(t, p.Open()); got.Serial != s.Serial || got.Lineage != s.Lineage {
			t.Errorf("the document was written: serial %d", got.Serial)
		}
	}
}

func second(_ *state.State, err error) error { return err }

func is[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

func newer(t *testing.T, p Place) {
	text := `{"version": 99, "overbrainer_version": "9.0", "lineage": "x", "serial": 7}`
	refusesAll(t, p, p.Open(), []byte(text), is[*state.NewerError], "version 99, written by overbrainer 9.0")
}

func otherLineage(t *testing.T, p Place) {
	store := p.Open()
	update(t, store, Count("a"))
	foreign := state.New("0123")
	foreign.Serial = 9
	refusesAll(t, p, store, encoded(t, foreign), is[*state.ReplacedError], "another project")
}

func olderSerial(t *testing.T, p Place) {
	store := p.Open()
	first := update(t, store, Count("a"))
	update(t, store, Count("a"))
	refusesAll(t, p, store, encoded(t, first), is[*state.ReplacedError], "older")
}

func damaged(t *testing.T, p Place) {
	store := p.Open()
	data := encoded(t, update(t, store, Count("a")))
	refusesAll(t, p, store, data[:len(data)-9], is[*state.DamagedError], "ends in the middle")
}

func encoded(t *testing.T, s *state.State) []byte {
	t.Helper()
	data, err := state.Encode(s)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
