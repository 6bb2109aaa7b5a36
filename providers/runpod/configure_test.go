package runpod_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/runpod"
)

func environ(kv map[string]string) func(string) string {
	return func(name string) string { return kv[name] }
}

func configure(t *testing.T, env map[string]string, values map[string]any) (*runpod.Provider, providers.Configured) {
	t.Helper()
	p := runpod.New(runpod.Options{Version: "1.2.3", Environ: environ(env)})
	c, err := p.Configure(ctx, providers.ConfigureRequest{Values: values, Project: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return p, c
}

func TestKeyIsFound(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, ".runpod", "config.toml")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"apikey = \"from-file\"\n", "# x\napiurl = 'y'\n  apiKey='from-file' # mine\n[other]\napikey = 'no'\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			name   string
			env    map[string]string
			values map[string]any
			want   string
		}{
			{"the block first", map[string]string{"HOME": home, "RUNPOD_API_KEY": "from-env"}, map[string]any{"api_key": "from-block"}, "from-block"},
			{"then the environment", map[string]string{"HOME": home, "RUNPOD_API_KEY": "from-env\n"}, nil, "from-env"},
			{"then runpodctl's file", map[string]string{"HOME": home}, nil, "from-file"},
		} {
			a := newAPI(t, reply{status: 200, body: "{}"})
			values := map[string]any{"api_url": a.URL + "/v2"}
			for k, v := range test.values {
				values[k] = v
			}
			p, c := configure(t, test.env, values)
			if len(c.Problems) > 0 || c.Simulated || c.Speed != 1 {
				t.Errorf("%s: %+v", test.name, c)
				continue
			}
			if _, err := p.ListVolumes(ctx); err != nil {
				t.Error(err)
			}
			if got := a.got()[0].header.Get("Authorization"); got != "Bearer "+test.want {
				t.Errorf("%s: sent %q", test.name, got)
			}
		}
	}
}

func TestConfigurationFaults(t *testing.T) {
	home := t.TempDir()
	key := map[string]string{"RUNPOD_API_KEY": apiKey}
	for _, test := range []struct {
		name      string
		env       map[string]string
		values    map[string]any
		attribute string
		text      string
	}{
		{"no key", map[string]string{"HOME": home}, nil, "api_key",
			"looked at api_key in the provider block, RUNPOD_API_KEY, " + home + "/.runpod/config.toml"},
		{"odd key", map[string]string{"RUNPOD_API_KEY": apiKey + "\n" + apiKey}, nil, "api_key", "line break"},
		{"plain http", key, map[string]any{"api_url": "http://api.example.com/v2"}, "api_url", "in the open"},
		{"no address", key, map[string]any{"api_url": "api.example.com"}, "api_url", "https://host/path"},
		{"another scheme", key, map[string]any{"api_url": "ftp://x/"}, "api_url", "https://"},
		{"a key in the address", key, map[string]any{"api_url": "https://u:p@x/"}, "api_url", "host and a path only"},
		{"cloud", key, map[string]any{"cloud": "private"}, "cloud", "secure"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, c := configure(t, test.env, test.values)
			if len(c.Problems) != 1 || c.Problems[0].Attribute != test.attribute || !strings.Contains(c.Problems[0].Detail, test.text) {
				t.Fatalf("%+v", c.Problems)
			}
			noSecret(t, c.Problems[0].Detail)
			if _, err := p.ListPods(ctx); !providers.Is(err, providers.Invalid) {
				t.Errorf("usable all the same: %v", err)
			}
		})
	}
	_, c := configure(t, nil, map[string]any{"cloud": "x", "api_url": "x"})
	if len(c.Problems) != 3 {
		t.Errorf("all faults at once: %+v", c.Problems)
	}
}

func TestDescription(t *testing.T) {
	a := newAPI(t)
	p, _ := configure(t, map[string]string{"RUNPOD_API_KEY": apiKey}, map[string]any{"api_url": a.URL + "/v2/"})
	d, err := p.Describe(ctx)
	if err != nil || d.Guard.Env["OVERBRAINER_API_URL"] != a.URL+"/v2" || d.Guard.Env["OVERBRAINER_VERSION"] != "1.2.3" {
		t.Errorf("%+v, %v", d.Guard.Env, err)
	}
	for _, attr := range d.Schema.Attributes {
		if attr.Sensitive != (attr.Name == "api_key") {
			t.Errorf("%+v", attr)
		}
	}
}
