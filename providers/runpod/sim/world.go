package sim

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"sync"
	"time"
)

// server is one simulated account with everything it holds.
type server struct {
	opt   Options
	url   string
	form  string
	shut  func()
	tools func() tools // waits for what is looked for since the start

	journal *journal
	faults  *faults
	quota   *quota
	turns   turns
	acts    sync.WaitGroup // faults of pods that are under way

	// mu guards what follows. It is never held while a process is waited for.
	mu        sync.Mutex
	speed     float64
	pods      map[string]*pod
	volumes   map[string]*volume
	secrets   map[string]*secret
	templates map[string]*template
	registry  map[string]string
	sshKeys   []string
	cat       *catalog
	bills     *ledger
	balance   *float64
	pull      time.Duration
	requests  int64
	asked     time.Time
	dirty     bool
	last      *podRequest // newest create call, whose markers stand-in pods copy
	closed    bool
}

func newServer(opt Options, url string, stop func()) (*server, error) {
	form, err := opt.chooseForm()
	if err != nil {
		return nil, err
	}
	s := &server{
		opt: opt, url: url, form: form, shut: stop, speed: opt.Speed,
		pods: map[string]*pod{}, volumes: map[string]*volume{}, secrets: map[string]*secret{},
		templates: map[string]*template{}, registry: map[string]string{},
		pull: time.Second, asked: time.Now(), quota: newQuota(), turns: newTurns(), tools: sync.OnceValue(findTools),
	}
	if s.cat, err = embeddedCatalog(); err != nil {
		return nil, err
	}
	go s.tools()
	s.bills = newLedger()
	s.faults = newFaults(s)
	if err := s.load(); err != nil {
		return nil, err
	}
	if s.journal, err = openJournal(filepath.Join(opt.Home, journalFile)); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *server) writeAddress() error {
	s.mu.Lock()
	a := Address{URL: s.url, PID: os.Getpid(), Build: s.opt.Build, Speed: s.speed}
	s.mu.Unlock()
	return writeFile(filepath.Join(s.opt.Home, addressFile), a)
}

func (s *server) close() {
	s.killAll()
	s.mu.Lock()
	s.dirty = true
	s.mu.Unlock()
	s.save()
	s.journal.close()
}

// killAll ends every pod for good and refuses new ones.
func (s *server) killAll() {
	s.mu.Lock()
	s.closed = true
	pods := s.podList()
	for _, p := range pods {
		s.drop(p)
	}
	s.mu.Unlock()
	var all sync.WaitGroup
	for _, p := range pods {
		all.Go(func() { p.end() })
	}
	all.Wait()
	s.acts.Wait()
}

// podList gives the pods, newest first. mu is held.
func (s *server) podList() []*pod {
	out := make([]*pod, 0, len(s.pods))
	for _, p := range s.pods {
		out = append(out, p)
	}
	sort.Slice(out, func(i, j int) bool {
		if !out[i].created.Equal(out[j].created) {
			return out[i].created.After(out[j].created)
		}
		return out[i].serial > out[j].serial
	})
	return out
}

// idleFor is the time since the last request, 0 while there are pods.
func (s *server) idleFor() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pods) > 0 {
		return 0
	}
	return time.Since(s.asked)
}

// scaled is a nominal duration at the simulator's speed.
func (s *server) scaled(d time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Duration(float64(d) / s.speed)
}

func (s *server) logf(format string, args ...any) {
	fmt.Fprintf(s.opt.Log, "%s %s\n", time.Now().UTC().Format(time.RFC3339), fmt.Sprintf(format, args...))
}

const idLetters = "abcdefghijklmnopqrstuvwxyz0123456789"

// newID gives n letters and digits, beginning with a letter.
func newID(n int) string {
	raw := make([]byte, n)
	_, _ = rand.Read(raw) // never fails
	for i, b := range raw {
		if i == 0 {
			raw[i] = idLetters[int(b)%26]
		} else {
			raw[i] = idLetters[int(b)%len(idLetters)]
		}
	}
	return string(raw)
}

// stamp is how the API writes a moment.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }
