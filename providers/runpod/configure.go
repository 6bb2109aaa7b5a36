package runpod

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/overbrainer/overbrainer/providers"
)

// Variables that the provider reads.
const (
	keyVariable       = "RUNPOD_API_KEY"
	simulatorVariable = "OVERBRAINER_SIMULATOR"
)

// Configure checks the block, finds the key, and starts or finds the simulator
// where it is to be used.
func (p *Provider) Configure(ctx context.Context, req providers.ConfigureRequest) (providers.Configured, error) {
	env := func(name string) string { return first(req.Environment[name], p.options.Environ(name)) }
	text := func(name string) string { s, _ := req.Values[name].(string); return s }
	var problems []providers.Problem
	fault := func(attribute, summary, format string, args ...any) {
		problems = append(problems, providers.Problem{Attribute: attribute, Summary: summary, Detail: fmt.Sprintf(format, args...)})
	}
	cloud := providers.Cloud(first(text("cloud"), string(providers.Secure)))
	if cloud != providers.Secure && cloud != providers.Community {
		fault("cloud", "unknown kind of host", "cloud is %q; it can be \"secure\" or \"community\"", cloud)
	}
	base := first(text("api_url"), DefaultURL)
	if err := checkURL(base); err != nil {
		fault("api_url", "this address cannot be used", "%v", err)
	}
	inBlock, _ := req.Values["simulator"].(bool)
	byVariable := env(simulatorVariable) == "1"
	if inBlock || byVariable {
		if len(problems) > 0 {
			return providers.Configured{Problems: problems}, nil
		}
		return p.useSimulator(ctx, req.Project, env, cloud, inBlock)
	}
	key, source, looked := findKey(text("api_key"), env)
	if key == "" {
		fault("api_key", "no Runpod API key", "looked at %s; set one of them, or simulator = true to try without an account",
			strings.Join(looked, ", "))
		return providers.Configured{Problems: problems}, nil
	}
	c, err := newClient(base, key, source, p.options.Version, env)
	if err != nil {
		fault("api_key", "the API key cannot be used", "%v", err)
	}
	if len(problems) == 0 {
		p.use(c, cloud)
	}
	return providers.Configured{Problems: problems, Speed: 1}, nil
}

func (p *Provider) use(c *client, cloud providers.Cloud) {
	c.log = p.options.Log
	p.mu.Lock()
	defer p.mu.Unlock()
	p.client, p.cloud = c, cloud
}

// checkURL keeps the key from being sent in the open.
func checkURL(base string) error {
	u, err := url.Parse(base)
	switch {
	case err != nil || u.Host == "":
		return fmt.Errorf("api_url is no address of the form https://host/path")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("api_url may hold a host and a path only")
	case u.Scheme == "https" || u.Scheme == "http" && loopback(u.Hostname()):
		return nil
	case u.Scheme == "http":
		return fmt.Errorf("plain http would send the API key in the open; only this machine's own addresses may be reached so, use https")
	}
	return fmt.Errorf("api_url must begin with https://")
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// findKey looks for the API key in the block, the environment and runpodctl's
// own configuration. looked names the places.
func findKey(fromBlock string, env func(string) string) (key, source string, looked []string) {
	looked = append(looked, "api_key in the provider block", keyVariable)
	if fromBlock != "" {
		return fromBlock, "api_key in the provider block", looked
	}
	if key := strings.TrimSpace(env(keyVariable)); key != "" {
		return key, keyVariable, looked
	}
	home := env("HOME")
	if home == "" {
		return "", "", looked
	}
	path := filepath.Join(home, ".runpod", "config.toml")
	looked = append(looked, path)
	data, err := os.ReadFile(path)
	if err != nil {
		return "", "", looked
	}
	return tomlKey(string(data)), path, looked
}

// tomlKey reads the line apikey = "…" at the top of runpodctl's configuration.
func tomlKey(text string) string {
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			break
		}
		name, value, ok := strings.Cut(line, "=")
		if ok && strings.EqualFold(strings.Trim(strings.TrimSpace(name), `"'`), "apikey") {
			return unquote(strings.TrimSpace(value))
		}
	}
	return ""
}

// unquote reads a string of one line in either of TOML's quotes.
func unquote(s string) string {
	if s == "" || s[0] != '"' && s[0] != '\'' {
		return ""
	}
	inner, _, ok := strings.Cut(s[1:], s[:1])
	if !ok {
		return ""
	}
	return inner
}
