package plugin_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/plugin"
	"github.com/overbrainer/overbrainer/providers/providertest"
)

func TestConformsThroughAProcess(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Subject {
		return providertest.Subject{Provider: mustStart(t, "memory", nil).Provider()}
	})
}

func TestDescriptionCrossesWhole(t *testing.T) {
	ctx := context.Background()
	want := providertest.NewMemory().Description
	got, err := mustStart(t, "memory", nil).Provider().Describe(ctx)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n got %+v\nwant %+v", err, got, want)
	}
}

func TestDeepPaths(t *testing.T) {
	deep := filepath.Join(t.TempDir(), strings.Repeat("a long name/", 12), `with "quotes" and spaces`)
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tmp := range []string{deep, filepath.Join(deep, "missing"), ""} {
		p := mustStart(t, "memory", func(c *plugin.Command) {
			c.Environ = append(withoutTemp(c.Environ), "TMPDIR="+tmp)
		})
		if _, err := p.Provider().ListPods(context.Background()); err != nil {
			t.Errorf("TMPDIR %q: %v", tmp, err)
		}
	}
}

func withoutTemp(environ []string) []string {
	var out []string
	for _, kv := range environ {
		if !strings.HasPrefix(kv, "TMPDIR=") && !strings.HasPrefix(kv, "XDG_RUNTIME_DIR=") {
			out = append(out, kv)
		}
	}
	return out
}

func TestFailedStarts(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	elf := "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9) + "\x02\x00\xf3\x00\x01\x00\x00\x00" + strings.Repeat("\x00", 28) +
		"\x40\x00\x38\x00\x00\x00\x40\x00\x00\x00\x00\x00"
	for _, test := range []struct {
		name, path, kind string
		reason           plugin.Reason
		message          string
	}{
		{"nothing", filepath.Join(dir, "nothing"), "", plugin.Missing, "no such file"},
		{"a directory", dir, "", plugin.NotAFile, "directory"},
		{"mode", file("mode", "#!/bin/sh\n", 0o644), "", plugin.NotExecutable, "mode 0644"},
		{"ends at once", file("quiet", "#!/bin/sh\nexit 0\n", 0o755), "", plugin.Ended, "exit status 0"},
		{"says something else", file("chatty", "#!/bin/sh\necho 'hello there'\nsleep 60\n", 0o755), "", plugin.NotAPlugin, `"hello there"`},
		{"no interpreter", file("lost", "#!/no/such/shell\n", 0o755), "", plugin.Broken, "interpreter"},
		{"no program", file("noise", "\x00\x01\x02\x03", 0o755), "", plugin.WrongSystem, "no program"},
		{"another machine", file("riscv", elf, 0o755), "", plugin.WrongSystem, "riscv"},
		{"complains and ends", "", "exit", plugin.Ended, "no licence found"},
		{"another protocol", "", "other protocol", plugin.WrongProtocol, "protocol 7"},
		{"says nothing", "", "silent", plugin.TooSlow, "said nothing for 1s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			_, err := start(t, test.kind, func(c *plugin.Command) {
				c.StartTimeout = time.Second
				if test.path != "" {
					c.Path, c.Env = test.path, nil
				}
			})
			var e *plugin.StartError
			if !errors.As(err, &e) || e.Reason != test.reason || !strings.Contains(err.Error(), test.message) {
				t.Errorf("got %v, want %q with %q", err, test.reason, test.message)
			}
			if err != nil && test.path != "" && !strings.Contains(err.Error(), test.path) {
				t.Errorf("%v does not name the file", err)
			}
			if took := time.Since(begin); took > 10*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

func TestCrashInTheMiddle(t *testing.T) {
	ctx := context.Background()
	for _, test := range []struct {
		kind   string
		call   func(providers.Provider) error
		want   providers.Kind
		detail string
	}{
		{"panic in create", func(p providers.Provider) error {
			_, err := p.CreatePod(ctx, providers.CreatePod{GPUType: "NVIDIA A40"})
			return err
		}, providers.Ambiguous, "panic: the price list is empty"},
		{"panic in read", func(p providers.Provider) error {
			_, err := p.ListPods(ctx)
			return err
		}, providers.Transient, "exit status 0"},
	} {
		t.Run(test.kind, func(t *testing.T) {
			p := mustStart(t, test.kind, nil)
			err := test.call(p.Provider())
			if !providers.Is(err, test.want) || !strings.Contains(fmt.Sprint(err), test.detail) || !strings.Contains(fmt.Sprint(err), "memory") {
				t.Errorf("%s: %v", providers.KindOf(err), err)
			}
			// The next call starts another process.
			if _, err := p.Provider().GetPod(ctx, "x"); !providers.Is(err, providers.NotFound) {
				t.Error(err)
			}
		})
	}
}

// What a process was told when it was configured, the one in its place is told
// as well.
func TestAnotherProcessTakesOver(t *testing.T) {
	ctx := context.Background()
	p := mustStart(t, "refuses unless configured", nil)
	if _, err := p.Provider().ListPods(ctx); !providers.Is(err, providers.Invalid) {
		t.Fatalf("not configured: %v", err)
	}
	if _, err := p.Provider().Configure(ctx, providers.ConfigureRequest{Environment: map[string]string{"KEY": "k"}}); err != nil {
		t.Fatal(err)
	}
	pid, ended := p.PID(), p.Exited()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-ended
	if _, err := p.Provider().ListPods(ctx); err != nil {
		t.Error(err)
	}
	if p.PID() == pid {
		t.Error("no other process was started")
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := p.Provider().ListPods(ctx); !providers.Is(err, providers.Transient) {
		t.Errorf("after the end: %v", err)
	}
}

// A provider that dies of every call is not started for ever.
func TestProcessesThatKeepEnding(t *testing.T) {
	ctx := context.Background()
	p := mustStart(t, "panic in read", nil)
	var last error
	calls := 0
	for ; calls < 20; calls++ {
		if _, last = p.Provider().ListPods(ctx); !strings.Contains(fmt.Sprint(last), "in the middle of the call") {
			break
		}
	}
	if calls != 6 || !providers.Is(last, providers.Transient) || !strings.Contains(fmt.Sprint(last), "6 times within an hour") {
		t.Errorf("after %d calls: %v", calls, last)
	}
}

func TestErrorsCrossWhole(t *testing.T) {
	want := &providers.Error{
		Kind: providers.Capacity, Op: "create pod", Status: 400, Message: "no capacity", Detail: "there are no longer any",
		RetryAfter: 90 * time.Second,
	}
	p := plugin.Loopback(t, memoryThatFails(want))
	_, err := p.CreatePod(context.Background(), providers.CreatePod{GPUType: "NVIDIA A40"})
	var got *providers.Error
	if !errors.As(err, &got) || *got != *want {
		t.Errorf("got %#v", err)
	}
	p = plugin.Loopback(t, memoryThatFails(errors.New("plain")))
	_, err = p.CreatePod(context.Background(), providers.CreatePod{GPUType: "NVIDIA A40"})
	if !providers.Is(err, providers.Unknown) || !strings.Contains(err.Error(), "plain") {
		t.Errorf("got %#v", err)
	}
}

func memoryThatFails(err error) *providertest.Memory {
	m := providertest.NewMemory()
	m.Fail(providertest.Fault{Op: "CreatePod", Times: -1, Err: err})
	return m
}

func TestLargeMessages(t *testing.T) {
	ctx := context.Background()
	p := mustStart(t, "memory", nil).Provider()
	req := providers.CreatePod{GPUType: "NVIDIA A40", Env: map[string]string{"BIG": strings.Repeat("x", 12<<20)}}
	if _, err := p.CreatePod(ctx, req); err != nil {
		t.Errorf("12 MiB: %v", err)
	}
	req.Env["BIG"] = strings.Repeat("x", 17<<20)
	if _, err := p.CreatePod(ctx, req); !providers.Is(err, providers.Invalid) || !strings.Contains(err.Error(), "16 MiB") {
		t.Errorf("17 MiB: %v", err)
	}
	req.Env["BIG"] = "\xff"
	if _, err := p.CreatePod(ctx, req); !providers.Is(err, providers.Invalid) || !strings.Contains(err.Error(), "UTF-8") {
		t.Errorf("not UTF-8: %v", err)
	}
	if pods, err := p.ListPods(ctx); err != nil || len(pods.Pods) != 1 {
		t.Errorf("afterwards: %v, %v", pods, err)
	}
}

// patient waits in its creates, as a provider does that was told to come later.
type patient struct {
	*providertest.Memory
	waiting chan struct{}
}

func (p *patient) CreatePod(ctx context.Context, req providers.CreatePod) (providers.Pod, error) {
	close(p.waiting)
	select {
	case <-ctx.Done():
		return p.Memory.CreatePod(context.WithoutCancel(ctx), req)
	case <-time.After(time.Minute):
		return providers.Pod{}, errors.New("not interrupted")
	}
}

func TestInterruptedEffectIsAnswered(t *testing.T) {
	m := &patient{Memory: providertest.NewMemory(), waiting: make(chan struct{})}
	p := plugin.Loopback(t, m)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-m.waiting; cancel() }()
	pod, err := p.CreatePod(ctx, providers.CreatePod{GPUType: "NVIDIA A40"})
	if err != nil || pod.ID == "" {
		t.Errorf("%+v, %v", pod, err)
	}
	if _, err := p.CreatePod(ctx, providers.CreatePod{GPUType: "NVIDIA A40"}); !providers.Is(err, providers.Transient) {
		t.Errorf("a create after the interrupt: %v", err)
	}
	if n := len(m.Creates()); n != 1 {
		t.Errorf("%d creates", n)
	}
}

func TestDescriptionsAreChecked(t *testing.T) {
	for text, change := range map[string]func(*providers.Description){
		"name and version": func(d *providers.Description) { d.Version = "" },
		`"api_key" twice`: func(d *providers.Description) {
			d.Schema.Attributes = append(d.Schema.Attributes, d.Schema.Attributes[0])
		},
		`type "list"`: func(d *providers.Description) { d.Schema.Attributes[0].Type = "list" },
		"no licence":  nil,
	} {
		m := providertest.NewMemory()
		var p providers.Provider = m
		if change == nil {
			p = undescribed{m}
		} else {
			change(&m.Description)
		}
		if _, err := plugin.Loopback(t, p).Describe(context.Background()); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %q", err, text)
		}
	}
}

type undescribed struct{ *providertest.Memory }

func (undescribed) Describe(context.Context) (providers.Description, error) {
	return providers.Description{}, errors.New("no licence")
}

func TestFindAndPin(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	if _, err := plugin.Find("acme", first, "", second); err == nil || !strings.Contains(err.Error(), second) {
		t.Error(err)
	}
	want := filepath.Join(second, "overbrainer-provider-acme")
	if err := os.WriteFile(want, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if names := plugin.Names(first, "", second, filepath.Join(first, "missing")); len(names) != 1 || names[0] != "acme" {
		t.Errorf("names %q", names)
	}
	got, err := plugin.Find("acme", first, second)
	if err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}
	sum, err := plugin.Digest(got)
	if err != nil || len(sum) != 64 {
		t.Errorf("%s, %v", sum, err)
	}
	_, err = plugin.Start(context.Background(), plugin.Command{Name: "acme", Path: got, SHA256: strings.Repeat("0", 64)})
	var e *plugin.StartError
	if !errors.As(err, &e) || e.Reason != plugin.WrongDigest || !strings.Contains(err.Error(), sum) {
		t.Error(err)
	}
}

func TestSinkEndsTheStream(t *testing.T) {
	m := providertest.NewMemory()
	id := m.AddPod(providers.Pod{})
	m.Log(id, "one", "bad \xff byte", "three")
	p := plugin.Loopback(t, m)
	full := errors.New("disk full")
	var got []string
	err := p.PodLogs(context.Background(), providers.LogRequest{PodID: id, Follow: true}, func(l providers.LogLine) error {
		if got = append(got, l.Text); len(got) == 2 {
			return full
		}
		return nil
	})
	if !errors.Is(err, full) || len(got) != 2 || got[1] != "bad \ufffd byte" {
		t.Errorf("%q, %v", got, err)
	}
}
