package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/providers/runpod/sim"
)

var (
	guardLives = flag.Int("lives", 3, "how many lives TestGuard goes through")
	guardSeed  = flag.Uint64("seed", 1, "the first life's seed; the others follow")
)

const (
	// livesSpeed lets two seconds, the least that a guard's interval is scaled
	// to without rounding, be a minute.
	livesSpeed    = 30
	livesInterval = time.Minute / livesSpeed
	// livesEnd is when a life that has not ended counts as one without an end.
	livesEnd = 4 * time.Minute
)

// fate is what happens in one life, in real time. It follows from a seed.
type fate struct {
	seed uint64

	job      time.Duration // how long the job works; 0: for ever
	exit     int           // its exit code; -1: it is killed
	saves    bool          // it answers a request for a snapshot
	bytes    int           // of its result
	hours    float64
	cost     float64 // max_cost_usd; 0: none
	grace    time.Duration
	boot     time.Duration
	overrun  time.Duration
	keep     time.Duration
	client   string // stays, leaves, returns, detaches
	leave    time.Duration
	back     time.Duration // after it left
	before   []sim.Fault
	troubles []trouble
}

// trouble is a fault at a moment.
type trouble struct {
	at    time.Duration
	fault sim.Fault
	lasts time.Duration // of an outage
}

func fateOf(seed uint64) fate {
	r := rand.New(rand.NewPCG(seed, 4)) // #nosec G404 -- a test that can be repeated
	some := func(p float64) bool { return r.Float64() < p }
	between := func(a, b float64) time.Duration { return time.Duration((a + r.Float64()*(b-a)) * float64(time.Second)) }
	nominal := func(d time.Duration) float64 { return d.Hours() * livesSpeed }

	f := fate{seed: seed, job: between(1, 20), saves: some(0.5), bytes: 1000 + r.IntN(200_000)}
	switch x := r.Float64(); {
	case x < 0.10:
		f.exit = 3
	case x < 0.18:
		f.exit = -1
	case x < 0.33:
		f.job = 0
	}
	limit := between(20, 40)
	f.hours = nominal(limit)
	if some(0.5) {
		f.cost = 0.25 * f.hours * (0.4 + 0.8*r.Float64())
	}
	f.grace, f.boot = between(4, 12), between(15, 40)
	if some(0.2) {
		f.overrun = between(3, 10)
	}
	if some(0.2) {
		f.keep = between(3, 10)
	}
	f.client = []string{"stays", "stays", "stays", "leaves", "leaves", "leaves", "returns", "returns", "detaches"}[r.IntN(9)]
	f.leave, f.back = between(0.5, 25), between(1, 15)
	if some(0.15) {
		f.before = append(f.before, sim.Fault{Name: []string{"create-500-after-effect", "create-500-no-effect", "capacity", "secret-unresolved", "pull-slow:240"}[r.IntN(5)]})
	}
	f.troubles = troubles(&f, r, some, between)
	slices.SortFunc(f.troubles, func(a, b trouble) int { return int(a.at - b.at) })
	return f
}

func troubles(f *fate, r *rand.Rand, some func(float64) bool, between func(a, b float64) time.Duration) []trouble {
	var all []trouble
	add := func(name string, lasts time.Duration, by string) {
		if lasts > 0 {
			name = fmt.Sprintf("%s:%.1f", name, lasts.Seconds())
		}
		all = append(all, trouble{at: between(2, 30), fault: sim.Fault{Name: name, By: by}, lasts: lasts})
	}
	if some(0.25) {
		add([]string{"api-down", "pod-api-down"}[r.IntN(2)], between(2, 8), "")
	}
	if some(0.15) {
		add("container-restart", 0, "")
	}
	if some(0.15) {
		add("container-restart-wiped", 0, "")
	}
	if some(0.2) {
		add("ssh-down", between(1, 8), "")
	}
	if some(0.25) {
		f.bytes = 5_000_000 + r.IntN(15_000_000)
		add([]string{"ssh-slow:4000000", "ssh-cut:1000000x4"}[r.IntN(2)], 0, "")
		all[len(all)-1].at = between(2, 8)
	}
	if some(0.2) {
		add([]string{"delete-500", "delete-ignored", "delete-500-after-effect"}[r.IntN(3)], 0, []string{"account", "pod"}[r.IntN(2)])
	}
	if some(0.05) {
		add([]string{"pod-dies", "pod-exits"}[r.IntN(2)], 0, "")
	}
	return all
}

// config is the life's configuration.
func (f fate) config() string {
	minutes := func(d time.Duration, least float64) string {
		return fmt.Sprintf("%q", fmt.Sprintf("%.0fs", max(least, d.Seconds()*livesSpeed)))
	}
	limits := fmt.Sprintf("max_hours = %.4f\nretrieve_grace = %s\nboot_grace = %s\n", f.hours, minutes(f.grace, 60), minutes(f.boot, 300))
	if f.cost > 0 {
		limits += fmt.Sprintf("max_cost_usd = %.4f\n", f.cost)
	}
	if f.overrun > 0 {
		limits += fmt.Sprintf("overrun_hours = %.4f\n", f.overrun.Hours()*livesSpeed)
	}
	steps := int(f.job / (250 * time.Millisecond))
	if f.job == 0 {
		steps = 1 << 30
	}
	end := fmt.Sprintf("exit %d", f.exit)
	if f.exit < 0 {
		end = "kill -KILL 0"
	}
	run := fmt.Sprintf(`command = <<-EOT
    mkdir -p output
    i=0
    while [ "$i" -lt %d ]; do
      i=$((i + 1))
      echo "{\"event\":\"log\",\"step\":$i}" >>"$OVERBRAINER_METRICS"
      if [ -e snapshot.request ] && [ -n "%s" ]; then
        mkdir -p "output/checkpoint-$i"
        echo "$i" >"output/checkpoint-$i/state"
        echo "{\"checkpoint\":\"output/checkpoint-$i\",\"step\":$i}" >snapshot.tmp
        mv snapshot.tmp snapshot.json
        exit 0
      fi
      sleep 0.25
    done
    head -c %d /dev/urandom >output/result
    %s
  EOT
`, steps, map[bool]string{true: "yes"}[f.saves], f.bytes, end)
	if f.saves {
		run += "  snapshot { path = \"output/checkpoint-{step}\" }\n"
	}
	if f.keep > 0 {
		run += "  keep_pod = " + minutes(f.keep, 0) + "\n"
	}
	return configOf("20m", limits, run)
}

// verdictOfLife is what a life came to.
type verdictOfLife struct {
	overCap, unguarded, lost bool
	overshoot, boot          time.Duration // nominal
	ended                    string        // the run's state and reason here
	billed, most             float64       // USD, of all its runs; what the plan said
	notes                    []string
}

func (v *verdictOfLife) note(format string, args ...any) {
	v.notes = append(v.notes, fmt.Sprintf(format, args...))
}

// guarded is one life while it goes on.
type guarded struct {
	*bench
	fate
	mostUSD float64 // by the plan
	began   time.Time

	outages []span
	restart []time.Time
	died    time.Time // a pod was taken away

	// What was seen on the pods' disks when a job had ended by itself.
	endedAt  time.Time
	left     map[string]string // path in output/ → digest
	marked   bool              // the pod was told that its results are safe
	spoiled  bool              // a pod was taken away or wiped
	presence []span            // of a client
	lastLog  map[string]string
}

type span struct{ from, to time.Time }

func (s span) overlaps(from, to time.Time) bool { return s.from.Before(to) && s.to.After(from) }

// TestGuard goes through lives that are made up from seeds: jobs of any length
// and end, clients that stay, die or come back, an API that is not there,
// containers that restart. What must hold in each: the bill stays within the
// cap and the plan's most, no pod outlives its bound, and no result is lost
// that could be had.
func TestGuard(t *testing.T) {
	if testing.Short() {
		t.Skip("lives take minutes")
	}
	binary := build(t)
	var mu sync.Mutex
	var overCap, unguarded, lost int
	var overshoot, boot time.Duration
	ends := map[string]int{}
	t.Run("lives", func(t *testing.T) {
		for i := range *guardLives {
			f := fateOf(*guardSeed + uint64(i)) // #nosec G115 -- small
			t.Run(fmt.Sprint(f.seed), func(t *testing.T) {
				t.Parallel()
				v := live(t, binary, f)
				mu.Lock()
				defer mu.Unlock()
				ends[v.ended]++
				t.Logf("a client that %s: %s, billed $%.3f, the plan's most $%.3f, beyond its bound %s", f.client, v.ended, v.billed, v.most, v.overshoot.Round(time.Second))
				overshoot, boot = max(overshoot, v.overshoot), max(boot, v.boot)
				for _, c := range []struct {
					bad bool
					n   *int
				}{{v.overCap, &overCap}, {v.unguarded, &unguarded}, {v.lost, &lost}} {
					if c.bad {
						*c.n++
						t.Fail()
					}
				}
				if t.Failed() {
					t.Logf("%+v\n%s\n%s", f, f.config(), strings.Join(v.notes, "\n"))
				}
			})
		}
	})
	t.Logf("how they ended: %v", ends)
	fmt.Printf("lives=%d over_cap=%d unguarded=%d lost_results=%d max_overshoot_s=%.0f boot_unguarded_s=%.0f\n",
		*guardLives, overCap, unguarded, lost, overshoot.Seconds(), boot.Seconds())
}

func live(t *testing.T, binary string, f fate) *verdictOfLife {
	g := &guarded{bench: newBench(t, binary, f.config(), livesSpeed), fate: f, lastLog: map[string]string{}}
	plan, err := g.run("plan", "-json")
	if err != nil {
		t.Fatalf("plan: %v\n%s", err, plan)
	}
	var doc struct {
		Cost struct {
			MaxUSD *float64 `json:"max_usd"`
		} `json:"cost"`
	}
	if err := json.Unmarshal([]byte(plan), &doc); err != nil || doc.Cost.MaxUSD == nil {
		t.Fatalf("plan: %v\n%s", err, plan)
	}
	g.mostUSD = *doc.Cost.MaxUSD
	for _, fault := range f.before {
		g.fault(fault)
	}
	v := &verdictOfLife{}
	g.began = time.Now()
	g.through(v)
	g.judge(v)
	return v
}

// through takes the life to its end: the last pod and the last client are gone.
func (g *guarded) through(v *verdictOfLife) {
	args := []string{"apply", "-auto-approve", "-no-color"}
	if g.client == "detaches" {
		args = append(args, "-detach")
	}
	c := g.start(args...)
	g.presence = append(g.presence, span{from: g.began})
	gone := func() { // the client has left
		g.presence[len(g.presence)-1].to = time.Now()
		v.note("%s client ended:\n%s", time.Since(g.began).Round(time.Millisecond), c)
		c = nil
	}
	left, pods := time.Time{}, false
	troubles := g.troubles
	for started := time.Now(); time.Since(started) < livesEnd; {
		if !pods && len(troubles) == len(g.troubles) && c != nil && c.running() && g.gone() {
			g.began = time.Now() // the life begins with its first pod
		}
		now := time.Since(g.began)
		for len(troubles) > 0 && troubles[0].at <= now {
			g.strike(troubles[0])
			troubles = troubles[1:]
		}
		g.look()
		pods = !g.gone()
		switch {
		case c != nil && !c.running():
			gone()
			left = time.Now()
		case c != nil && left.IsZero() && (g.client == "leaves" || g.client == "returns") && now >= g.leave:
			c.kill()
			gone()
			left = time.Now()
		case c == nil && (g.client == "returns" || g.client == "detaches") && len(g.presence) < 3 && time.Since(left) >= g.back:
			c = g.start("run", "attach", "run.job", "-no-color")
			g.presence = append(g.presence, span{from: time.Now()})
		case c == nil && !pods && (g.client == "stays" || g.client == "leaves" || len(g.presence) > 1):
			return
		}
		time.Sleep(40 * time.Millisecond)
	}
	v.unguarded = true
	v.note("no end after %s, pods left: %v", livesEnd, pods)
	if c != nil {
		c.kill()
		gone()
	}
}

// strike lets a trouble happen.
func (g *guarded) strike(tr trouble) {
	now := time.Now()
	err := g.sim.Fault(g.t.Context(), tr.fault)
	if err != nil {
		return // nothing there that could be hit
	}
	name, _, _ := strings.Cut(tr.fault.Name, ":")
	switch name {
	case "container-restart":
		g.restart = append(g.restart, now)
	case "container-restart-wiped", "pod-dies", "pod-exits":
		g.restart = append(g.restart, now)
		g.spoiled = true
		if name != "container-restart-wiped" {
			g.died = now
		}
	}
}

// look notes what lies on the pods' disks.
func (g *guarded) look() {
	for _, pod := range g.pods() {
		dir := runDir(pod)
		if dir == "" {
			continue
		}
		if text, err := os.ReadFile(filepath.Join(dir, ".pod/watchdog.log")); err == nil {
			g.lastLog[pod.ID] = string(text)
		}
		if _, err := os.Stat(filepath.Join(dir, ".pod/retrieved")); err == nil {
			g.marked = true
		}
		if code, err := os.ReadFile(filepath.Join(dir, "exit_code")); err == nil && g.endedAt.IsZero() && strings.TrimSpace(string(code)) == "0" {
			if left, err := digestsBelow(filepath.Join(dir, "output")); err == nil {
				g.endedAt, g.left = time.Now(), left
			}
		}
	}
}

// digestsBelow gives the SHA-256 of every file below a directory.
func digestsBelow(dir string) (map[string]string, error) {
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		rel, err := filepath.Rel(dir, path)
		out[rel] = hex.EncodeToString(sum[:])
		return err
	})
	return out, err
}

// judge decides what the life came to.
func (g *guarded) judge(v *verdictOfLife) {
	if err := g.sim.ClearFaults(g.t.Context()); err != nil {
		g.t.Fatal(err)
	}
	for _, tr := range g.troubles { // an outage lasts from the first call on that it meets
		all := g.requests()
		if i := slices.IndexFunc(all, func(r sim.Request) bool { return r.Fault == tr.fault.Name }); i >= 0 && tr.lasts > 0 {
			g.outages = append(g.outages, span{all[i].Time, all[i].Time.Add(tr.lasts)})
		}
	}
	lives := g.lives()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end) && slices.ContainsFunc(lives, func(l *podLife) bool { return l.ended.IsZero() }); lives = g.lives() {
		time.Sleep(50 * time.Millisecond) // an answer comes when the pod is dead
	}
	bills := map[string]float64{}
	over := map[string]float64{} // what a run's pods may cost beyond the cap
	for _, l := range lives {
		bills[l.runID] += g.bill(l.id)
		rate := g.bill(l.id)
		if lived := l.ended.Sub(l.created); !l.ended.IsZero() && lived > 0 {
			rate /= lived.Hours()
		}
		allowed := g.judgePod(v, l)
		over[l.runID] += rate * allowed.Hours()
	}
	v.most = g.mostUSD
	for run, usd := range bills {
		v.billed += usd
		limit := g.mostUSD
		if g.cost > 0 {
			limit = min(limit, g.cost)
		}
		if usd > limit+over[run]+1e-6 {
			v.overCap = true
		}
		v.note("run %s: billed $%.4f, cap $%.4f, plan $%.4f, allowed beyond $%.4f", run, usd, g.cost, g.mostUSD, over[run])
	}
	g.judgeResults(v, lives)
	if out, err := g.run("destroy", "-auto-approve", "-no-color"); err != nil || !g.gone() {
		v.unguarded = true
		v.note("destroy: %v\n%s", err, out)
	}
}

// judgePod looks at one pod's bound and gives how far beyond it was allowed:
// one interval, one more for each delete that the API did not carry out, and
// what the API was away for or the container needed to start again.
func (g *guarded) judgePod(v *verdictOfLife, l *podLife) time.Duration {
	if !l.ticked.IsZero() {
		v.boot = max(v.boot, l.ticked.Sub(l.created)*livesSpeed)
	}
	bound, end := l.bound(), l.ended
	if end.IsZero() {
		end = time.Now()
		if g.died.After(l.created) {
			end = g.died // it has no guard and no GPU any more
		}
	}
	allowed := livesInterval
	for _, at := range l.failed {
		if at.After(bound.Add(-livesInterval)) {
			allowed += livesInterval
		}
	}
	for _, o := range g.outages {
		if o.overlaps(bound.Add(-livesInterval), end) {
			allowed += o.to.Sub(bound)
		}
	}
	for _, at := range g.restart {
		i := slices.IndexFunc(l.requests, func(r time.Time) bool { return r.After(at) })
		if up := end; i >= 0 {
			up = l.requests[i]
			if (span{at, up}).overlaps(bound, end) {
				allowed += up.Sub(bound)
			}
		}
	}
	overshoot := end.Sub(bound)
	if l.ticked.IsZero() {
		v.note("pod %s: its guard never spoke", l.id)
	}
	v.note("pod %s: created %s, guard %s, bound %s, ended %s by %s, allowed %s beyond\n%s", l.id, l.created.Sub(g.began), l.ticked.Sub(l.created),
		bound.Sub(g.began), end.Sub(g.began), l.endedBy, allowed, g.lastLog[l.id])
	if overshoot > 0 {
		v.overshoot = max(v.overshoot, overshoot*livesSpeed)
	}
	if overshoot > allowed {
		v.unguarded = true
	}
	return allowed
}

// judgeResults compares what came home with what there was.
func (g *guarded) judgeResults(v *verdictOfLife, lives []*podLife) {
	var rows []runRow
	out, err := g.run("run", "list", "-json")
	if err != nil || json.Unmarshal([]byte(out), &rows) != nil {
		v.note("run list: %v\n%s", err, out)
	}
	v.ended = "nothing"
	if len(rows) > 0 {
		v.ended = strings.TrimSpace(rows[0].State + " " + rows[0].Reason)
	}
	v.note("ended as %q: %s", v.ended, out)
	if g.endedAt.IsZero() || g.spoiled {
		return
	}
	here := map[string]string{}
	if len(rows) > 0 {
		here, _ = digestsBelow(filepath.Join(g.dir, rows[0].Dir, "output"))
	}
	same := len(g.left) > 0
	for path, sum := range g.left {
		same = same && here[path] == sum
	}
	if same {
		return
	}
	last := lives[len(lives)-1]
	switch {
	case strings.HasPrefix(v.ended, "succeeded"), strings.HasPrefix(v.ended, "stopped") && g.marked:
		v.lost = true
		v.note("said to be here: %v, there was %v", here, g.left)
	case g.marked:
		v.lost = true
		v.note("the pod was told that its results are here")
	case last.endedBy == "account" && last.ended.Before(last.bound()):
		v.lost = true
		v.note("a client deleted the pod with its results")
	case g.couldFetch(last):
		v.lost = true
		v.note("a client was there for long enough")
	}
}

// couldFetch reports whether a client had ten undisturbed seconds with an ended
// job.
func (g *guarded) couldFetch(l *podLife) bool {
	end := l.ended
	if end.IsZero() {
		return true
	}
	for _, p := range g.presence {
		from, to := p.from, p.to
		if from.Before(g.endedAt) {
			from = g.endedAt
		}
		if to.After(end) {
			to = end
		}
		for _, tr := range g.troubles {
			at := g.began.Add(tr.at)
			if at.Before(to) && at.Add(tr.lasts+3*time.Second).After(from) {
				from = at.Add(tr.lasts + 3*time.Second)
			}
		}
		if to.Sub(from) > 10*time.Second {
			return true
		}
	}
	return false
}
