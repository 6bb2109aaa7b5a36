package main

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFlagsStandAnywhere(t *testing.T) {
	for _, test := range []struct {
		args string
		rest string
		tail int
	}{
		{"ADDR -f -tail=3", "ADDR", 3},
		{"-f ADDR --tail 3", "ADDR", 3},
		{"--f -tail=3 ADDR", "ADDR", 3},
		{"-tail=3 ADDR -- -f x", "ADDR -f x", 3},
		{"-- -tail=3", "-tail=3", 0},
	} {
		var follow bool
		tail := 0
		f := &flags{}
		f.boolean(&follow, "f", "")
		f.number(&tail, "tail", "N", "")
		rest, err := f.parse(strings.Fields(test.args))
		if err != nil || strings.Join(rest, " ") != test.rest || tail != test.tail {
			t.Errorf("%s: %q, tail %d, %v", test.args, rest, tail, err)
		}
	}
}

func TestUnknownFlagNamesTheNearest(t *testing.T) {
	approve := false
	f := &flags{}
	f.boolean(&approve, "auto-approve", "")
	_, err := f.parse([]string{"-auto-aprove"})
	var u *usageError
	if !errors.As(err, &u) || u.hint != "did you mean -auto-approve?" {
		t.Errorf("%#v", err)
	}
	if _, err = f.parse([]string{"-zzz"}); !errors.As(err, &u) || u.hint != "" {
		t.Errorf("%#v", err)
	}
}

func TestSplitWords(t *testing.T) {
	for in, want := range map[string][]string{
		`-json -no-color`:        {"-json", "-no-color"},
		`-var 'name=a b' -x=""`:  {"-var", "name=a b", "-x="},
		`a\ b "c \" d" '' e`:     {"a b", `c " d`, "", "e"},
		"  ":                     nil,
		"-var=it's\\ 'fine'\tok": nil,
	} {
		got, err := splitWords(in)
		if in == "-var=it's\\ 'fine'\tok" {
			if err == nil {
				t.Errorf("%s: %q: the quote is not closed", in, got)
			}
			continue
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", in, got, err)
		}
	}
}

func TestDefaultsStandBehindTheCommand(t *testing.T) {
	environ := func(name string) string {
		return map[string]string{
			"OVERBRAINER_CLI_ARGS": "-no-color", "OVERBRAINER_CLI_ARGS_run_list": "-all", "OVERBRAINER_CLI_ARGS_force_unlock": "-force",
		}[name]
	}
	for in, want := range map[string]string{
		"plan -out=p":     "plan -no-color -out=p",
		"run list -json":  "run list -no-color -all -json",
		"force-unlock 1":  "force-unlock -no-color -force 1",
		"sim -help":       "sim -no-color -help",
		"-help":           "-help",
		"provider runpod": "provider runpod",
	} {
		got, err := withDefaults(strings.Fields(in), environ)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %q, %v", in, got, err)
		}
	}
}

func TestLastLines(t *testing.T) {
	for _, test := range []struct {
		in   string
		n    int
		want string
	}{
		{"a\nb\nc\n", 2, "b\nc\n"},
		{"a\nb\nc", 1, "c"},
		{"a\n", 5, "a\n"},
		{"a\nb\n", 0, ""},
		{"a\nb\n", -1, "a\nb\n"},
		{"", 3, ""},
		{"a\nb\n\n\n", 1, "b\n\n\n"},
		{"a\n\nb\n", 2, "\nb\n"},
	} {
		if got := string(lastLines([]byte(test.in), test.n)); got != test.want {
			t.Errorf("last %d of %q: %q, want %q", test.n, test.in, got, test.want)
		}
		in := strings.NewReader(test.in)
		if err := toLastLines(in, max(test.n, 0)); err != nil {
			t.Error(err)
		}
		if got, _ := io.ReadAll(in); test.n >= 0 && string(got) != test.want {
			t.Errorf("last %d of %q in a file: %q, want %q", test.n, test.in, got, test.want)
		}
	}
}

// readCount counts what is read.
type readCount struct {
	io.ReadSeeker
	n int
}

func (r *readCount) Read(p []byte) (int, error) {
	n, err := r.ReadSeeker.Read(p)
	r.n += n
	return n, err
}

// TestLongLogsAreReadInParts: the last lines of a long log take its end, and all of
// them, or a line without end, no more memory at once than a part.
func TestLongLogsAreReadInParts(t *testing.T) {
	line := strings.Repeat("x", 999) + "\n"
	log := &readCount{ReadSeeker: strings.NewReader(strings.Repeat(line, 10_000))}
	if err := toLastLines(log, 200); err != nil || log.n > 512<<10 {
		t.Errorf("%d bytes were read, %v", log.n, err)
	}
	var out bytes.Buffer
	a := &app{out: &out}
	if err := a.printLines(log); err != nil || out.String() != strings.Repeat(line, 200) {
		t.Errorf("%d bytes, %v", out.Len(), err)
	}
	most := &mostWritten{}
	a.out = most
	long := strings.Repeat("y", 5<<20)
	if err := a.printLines(strings.NewReader(long + "\r\nend")); err != nil || most.text.String() != long+"\nend\n" || most.n > 1<<20+1 {
		t.Errorf("%d bytes at once of %d, %v", most.n, most.text.Len(), err)
	}
}

// TestNobodyReadsALog: what is shown of a log ends with who reads it.
func TestNobodyReadsALog(t *testing.T) {
	log := &readCount{ReadSeeker: strings.NewReader(strings.Repeat("line\n", 2_000_000))}
	r, w := io.Pipe()
	_ = r.Close()
	if err := (&app{out: w}).printLines(log); err != nil || log.n > 2<<20 {
		t.Errorf("%d bytes were read, %v", log.n, err)
	}
}

// mostWritten keeps what is written, and how much of it at once at most.
type mostWritten struct {
	text bytes.Buffer
	n    int
}

func (w *mostWritten) Write(p []byte) (int, error) {
	w.n = max(w.n, len(p))
	return w.text.Write(p)
}

// fits checks that help needs no more than 80 columns; an example may, since it
// is copied as one line.
func fits(t *testing.T, help string) {
	t.Helper()
	for line := range strings.Lines(help) {
		if line = strings.TrimRight(line, "\n"); utf8.RuneCountInString(line) > helpWidth && !strings.HasPrefix(line, "  $ ") {
			t.Errorf("a line of help is too long: %q", line)
		}
	}
}

func TestHelpFits80Columns(t *testing.T) {
	a := &app{environ: func(string) string { return "" }}
	fits(t, a.overview())
	for group := range commandGroups {
		fits(t, a.groupHelp(group))
	}
}

func TestEveryCommandHasHelp(t *testing.T) {
	a := &app{environ: func(string) string { return "" }}
	seen := map[string]bool{}
	for _, make := range commands {
		c := make(a)
		if seen[c.name] {
			t.Errorf("%s is in the table twice", c.name)
		}
		seen[c.name] = true
		help := c.help()
		for _, part := range []string{"Usage: overbrainer", "Flags:", "Example:", "EXIT STATUS"} {
			if !strings.Contains(help, part) {
				t.Errorf("%s: its help has no %q", c.name, part)
			}
		}
		if !strings.Contains(c.example, "overbrainer") {
			t.Errorf("%s: its example does not call overbrainer: %q", c.name, c.example)
		}
		fits(t, help)
		if group, _, nested := strings.Cut(c.name, " "); nested && !commandGroups[group] {
			t.Errorf("%s: %s is no group", c.name, group)
		}
	}
}
