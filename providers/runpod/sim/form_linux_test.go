package sim

import (
	"strings"
	"testing"
)

// A shell that pods would not find is refused before any pod is paid for.
func TestShellHasToBeThere(t *testing.T) {
	for shell, ok := range map[string]bool{"": true, "sh": true, "/nonexistent/shell": false} {
		err := Options{Shell: shell}.tryShell(FormRelocated)
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), shell) {
			t.Errorf("%q: %v", shell, err)
		}
	}
}
