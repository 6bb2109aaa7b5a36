package plugin

import (
	"slices"
	"strings"
)

// What a child gets of the environment: nothing that could hold a credential
// of somebody else.
var (
	passedNames = []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "SSL_CERT_FILE", "SSL_CERT_DIR",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
	}
	passedPrefixes = []string{"XDG_", "LC_"}
)

// childEnvironment filters the environment down to the allowed names.
func childEnvironment(environ []string) []string {
	var out []string
	for _, kv := range environ {
		key, _, _ := strings.Cut(kv, "=")
		if allowed(key) {
			out = append(out, kv)
		}
	}
	return out
}

func allowed(key string) bool {
	for _, n := range slices.Concat(passedNames, systemVariables) {
		if sameVariable(key, n) {
			return true
		}
	}
	for _, p := range passedPrefixes {
		if strings.HasPrefix(key, p) {
			return true
		}
	}
	return false
}

func lookup(environ []string, key string) string {
	value := ""
	for _, kv := range environ {
		if k, v, ok := strings.Cut(kv, "="); ok && k == key {
			value = v
		}
	}
	return value
}
