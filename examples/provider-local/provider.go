//go:build linux

package main

import (
	"context"
	_ "embed"
	"fmt"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/providers"
)

//go:embed guard.sh
var guardFunctions string

// local is the contract on this machine. Its account is a directory: nothing is
// kept between two calls.
type local struct {
	store store
	here  place
}

// place is what the configuration says of the machine.
type place struct {
	gpuType    string
	gpuCount   int
	vramGB     int
	price      float64 // USD an hour for one GPU; 0 = free
	maxPods    int
	user, sshd string
}

var _ providers.Provider = (*local)(nil)

func newLocal() *local { return &local{} }

// secretPlaceholder stands in a pod's environment for a secret's value.
const secretPlaceholder = "{{ LOCAL_SECRET_%s }}"

// Describe needs no configuration and looks at nothing.
func (l *local) Describe(context.Context) (providers.Description, error) {
	attribute := func(name string, typ providers.AttributeType, text string) providers.Attribute {
		return providers.Attribute{Name: name, Type: typ, Description: text}
	}
	return providers.Description{
		Name:    "local",
		Version: version,
		Schema: providers.Schema{Attributes: []providers.Attribute{
			attribute("directory", providers.String, "where pods and secrets lie; by default overbrainer-provider-local in XDG_STATE_HOME"),
			attribute("gpu_type", providers.String, `what this machine is called in gpu_types; by default "local"`),
			attribute("gpu_count", providers.Number, "GPUs of this machine, all of which every pod sees; by default 1"),
			attribute("vram_gb", providers.Number, "memory of one GPU; by default 0"),
			attribute("price_per_hour", providers.Number, "USD for one GPU, where somebody charges for the machine; by default 0, which is free"),
			attribute("max_pods", providers.Number, "how many pods may run at a time; by default 8"),
			attribute("speed", providers.Number, "divides every wait and bound, to try things out; by default 1"),
		}},
		Capabilities:      []providers.Capability{providers.CapSecrets, providers.CapLogs, providers.CapGuard},
		Guard:             providers.Guard{Functions: guardFunctions},
		SecretPlaceholder: secretPlaceholder,
		Environment:       []string{"HOME", "XDG_STATE_HOME"},
	}, nil
}

// Configure checks the block and finds the account.
func (l *local) Configure(_ context.Context, req providers.ConfigureRequest) (providers.Configured, error) {
	var problems []providers.Problem
	fault := func(attribute, summary, format string, args ...any) {
		problems = append(problems, providers.Problem{Attribute: attribute, Summary: summary, Detail: fmt.Sprintf(format, args...)})
	}
	number := func(name string, without, least float64, whole bool) float64 {
		n, set := req.Values[name].(float64)
		if !set {
			return without
		}
		if n < least || whole && n != float64(int(n)) {
			kind := "a number"
			if whole {
				kind = "a whole number"
			}
			fault(name, "value out of range", "%s is %v; it is %s of at least %v", name, n, kind, least)
		}
		return n
	}
	l.here = place{
		gpuType:  "local",
		gpuCount: int(number("gpu_count", 1, 1, true)),
		vramGB:   int(number("vram_gb", 0, 0, true)),
		price:    number("price_per_hour", 0, 0, false),
		maxPods:  int(number("max_pods", 8, 1, true)),
	}
	speed := number("speed", 1, 1, false)
	if text, _ := req.Values["gpu_type"].(string); text != "" {
		l.here.gpuType = text
	}
	l.store.dir = directory(req)
	if !filepath.IsAbs(l.store.dir) || strings.ContainsAny(l.store.dir, "\"\\\n'") {
		fault("directory", "this directory cannot be used", "%q is no absolute path without quotes and backslashes", l.store.dir)
	}
	var err error
	if l.here.sshd, err = findSSHD(); err != nil {
		fault("", "no sshd on this machine", "pods are reached over SSH; install openssh-server")
	}
	if who, err := user.Current(); err == nil {
		l.here.user = who.Username
	} else {
		fault("", "this user has no name", "%v", err)
	}
	if len(problems) == 0 {
		if err := l.store.prepare(); err != nil {
			fault("directory", "this directory cannot be used", "%v", err)
		}
	}
	return providers.Configured{Problems: problems, Speed: speed}, nil
}

func directory(req providers.ConfigureRequest) string {
	if dir, _ := req.Values["directory"].(string); dir != "" {
		return filepath.Clean(dir)
	}
	base := req.Environment["XDG_STATE_HOME"]
	if base == "" {
		base = filepath.Join(req.Environment["HOME"], ".local", "state")
	}
	return filepath.Join(base, "overbrainer-provider-local")
}

func findSSHD() (string, error) {
	for _, name := range []string{"/usr/sbin/sshd", "/usr/local/sbin/sshd", "sshd"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", exec.ErrNotFound
}

// Catalog has one type, this machine, in one place.
func (l *local) Catalog(ctx context.Context, q providers.CatalogQuery) (providers.Catalog, error) {
	const op = "read catalog"
	if err := l.mayRead(ctx, op); err != nil {
		return providers.Catalog{}, err
	}
	pods, err := l.store.pods()
	if err != nil {
		return providers.Catalog{}, broken(op, err)
	}
	stock := providers.HighStock
	if len(pods) >= l.here.maxPods {
		stock = providers.NoStock
	}
	return providers.Catalog{
		GPUs: []providers.GPUType{{
			ID: l.here.gpuType, Name: l.here.gpuType, VRAMGB: l.here.vramGB, Offered: q.Cloud != providers.Community,
			Price: l.here.price, MaxCount: l.here.gpuCount, Stock: stock,
			DataCenters: []providers.PlaceStock{{DataCenter: dataCenter, Stock: stock}},
		}},
		DataCenters: []providers.DataCenter{{
			ID: dataCenter, Name: "this machine", GPUs: []providers.GPUStock{{GPUType: l.here.gpuType, Stock: stock}},
		}},
		Free:         l.here.price == 0,
		DiskIncluded: true,
		ServerTime:   time.Now(),
	}, nil
}

const dataCenter = "here"

// mayRead fails for a read whose context has ended, and for a provider that is
// not configured.
func (l *local) mayRead(ctx context.Context, op string) error {
	if ctx.Err() != nil {
		return failed(providers.Transient, op, "the call was given up")
	}
	return l.ready(op)
}

func (l *local) ready(op string) error {
	if l.store.dir == "" {
		return failed(providers.Invalid, op, "the provider is not configured")
	}
	return nil
}

func failed(kind providers.Kind, op, format string, args ...any) error {
	return &providers.Error{Kind: kind, Op: op, Message: fmt.Sprintf(format, args...)}
}

// broken is a read of the account that the machine refused.
func broken(op string, err error) error { return failed(providers.Transient, op, "%v", err) }
