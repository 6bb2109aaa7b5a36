package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/internal/safetext"
)

// logInto opens a log of a level in a file and gives what reads it.
func logInto(t *testing.T, level string) (*app, func() string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log")
	a := &app{redactor: safetext.NewRedactor(), known: &secrets{}, environ: func(name string) string {
		return map[string]string{"OVERBRAINER_LOG": level, "OVERBRAINER_LOG_PATH": path}[name]
	}}
	var err error
	if a.logs, err = a.openLog(false); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.close)
	return a, func() string {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
}

// TestProvidersLinesKeepTheirLevel: records of slog and of hclog are taken apart,
// anything else is logged as it is, and what the level leaves out is left out.
func TestProvidersLinesKeepTheirLevel(t *testing.T) {
	a, read := logInto(t, "debug")
	w := a.logs.writer("provider.x")
	for _, part := range []string{
		`{"time":"2026-01-01T00:00:00Z","level":"WARN","msg":"slow","took":"3s","n":2}` + "\n",
		`{"@level":"error","@message":"gone","@timestamp":"now","pod":"abc"}` + "\nplain ", "text\n\n",
		`{"level":"TRACE","msg":"unseen"}` + "\n",
		`{"level":"loud","msg":"odd"}` + "\n",
		"{broken\n",
	} {
		if _, err := w.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	got := read()
	for _, want := range []string{
		"level=WARN msg=slow source=provider.x n=2 took=3s\n", "level=ERROR msg=gone source=provider.x pod=abc\n",
		"level=DEBUG msg=\"plain text\" source=provider.x\n", `level=DEBUG msg="{\"level\":\"loud\"`, "level=DEBUG msg={broken",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "unseen") || strings.Count(got, "\n") != 5 {
		t.Errorf("not five records:\n%s", got)
	}
}

// TestLogHidesSecrets: also where quoting would tear a secret apart, in errors,
// and in what a provider says; a line without an end is not kept for ever.
func TestLogHidesSecrets(t *testing.T) {
	a, read := logInto(t, "trace")
	secret := "pass\"word\nof two lines"
	a.hide(secret)
	a.logs.Info("got "+secret, "value", secret, "list", []string{secret})
	a.logs.done(levelTrace, "tried", time.Now(), &problem{message: "refused: " + secret})
	w := a.logs.writer("provider.x")
	_, _ = w.Write([]byte(`{"level":"INFO","msg":"m","key":"pass\"word\nof two lines"}` + "\n"))
	_, _ = w.Write([]byte(strings.Repeat("x", 2*maxLogLine)))
	got := read()
	for _, piece := range []string{"of two", "word"} {
		if strings.Contains(got, piece) {
			t.Errorf("it holds %q:\n%.2000s", piece, got)
		}
	}
	if !strings.Contains(got, "level=TRACE msg=tried") || !strings.Contains(got, "xxx") || strings.Count(got, safetext.Mask) < 4 {
		t.Errorf("%.2000s", got)
	}
}

// TestLogIsPrivate: also one that was there before with another mode.
func TestLogIsPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("before\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := openPrivate(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	slog.New(slog.NewTextHandler(f, nil)).Info("after")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if data, _ := os.ReadFile(path); !strings.HasPrefix(string(data), "before\n") || !strings.Contains(string(data), "after") {
		t.Errorf("%s", data)
	}
}
