package safetext_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/overbrainer/overbrainer/internal/safetext"
)

const key = "rpx-0123456789abcdefghijKLMNOP"

func TestString(t *testing.T) {
	blob := strings.Repeat("Ab3+", 60)
	for _, test := range []struct{ name, in, want string }{
		{"nothing", "step 120 loss 1.83", "step 120 loss 1.83"},
		{"known", "key " + key + " refused", "key *** refused"},
		{"a piece of it", "got " + key[5:25] + "!", "got ***!"},
		{"two pieces in a row", key + key, "***"},
		{"short secret", "pass hush end", "pass *** end"},
		{"part of a short one stays", "hus", "hus"},
		{"token prefixes", "rpa_ABCDEFGH1 hf_abcdefghij rps_12345678", "rpa_*** hf_*** rps_***"},
		{"token inside a word", "xrpa_ABCDEFGH1", "xrpa_ABCDEFGH1"},
		{"too short for a token", "hf_abc", "hf_abc"},
		{"assignment", "export HF_TOKEN=abc123 x=1", "export HF_TOKEN=*** x=1"},
		{"name holds the word", "MY_KEY_ID=17", "MY_KEY_ID=***"},
		{"quoted", `NPM_TOKEN="two words" rest`, `NPM_TOKEN=*** rest`},
		{"field", "WANDB_API_KEY: abc", "WANDB_API_KEY: ***"},
		{"files are no fields", "open /etc/passwd: no such file, -x=/run/APP_TOKEN: it is a directory", "open /etc/passwd: no such file, -x=/run/APP_TOKEN: it is a directory"},
		{"fields behind a slash", "example.com/password: abc /etc/password=abc '/x/password': abc", "example.com/password: *** /etc/password=*** '/x/password': ***"},
		{"json field", `{"apiKey": "abc def", "n": 1}`, `{"apiKey": ***, "n": 1}`},
		{"password", "password=hunter2, user=me", "password=***, user=me"},
		{"bearer", "Authorization: Bearer abcdefgh123", "Authorization: Bearer ***"},
		{"numbers of tokens are no secret", "tokens=4096 max_tokens: 12 keys: 3", "tokens=4096 max_tokens: 12 keys: 3"},
		{"long base64", "value " + blob + " end", "value *** end"},
		{"padded base64, twice", blob + "==" + blob + "=x", "******x"},
		{"line of base64, padded", "  " + blob[:42] + "==\t\r\nb", "  ***\t\r\nb"},
		{"line of base64", "a\n  " + blob[:44] + "\nb", "a\n  ***\nb"},
		{"ruler", strings.Repeat("-", 60), strings.Repeat("-", 60)},
		{"word", strings.Repeat("a", 60), strings.Repeat("a", 60)},
		{"private key", "x\n-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----\ny", "x\n***\ny"},
		{"private key without an end", "x -----BEGIN PRIVATE KEY-----\nabc", "x ***"},
		{"certificate stays", "-----BEGIN CERTIFICATE-----", "-----BEGIN CERTIFICATE-----"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := safetext.NewRedactor(key, "hush", "abc")
			if got := r.String(test.in); got != test.want {
				t.Errorf("String(%q)\n got %q\nwant %q", test.in, got, test.want)
			}
			if got := r.String(test.want); got != test.want {
				t.Errorf("masking twice: got %q", got)
			}
		})
	}
}

func TestNilRedactor(t *testing.T) {
	var r *safetext.Redactor
	if got := r.String("hf_abcdefghij"); got != "hf_***" {
		t.Error(got)
	}
	if r.Reveals("anything") {
		t.Error("a redactor without secrets knows none")
	}
}

func TestReveals(t *testing.T) {
	var uniform, percent, wrapped, joined strings.Builder
	for i, c := range []byte(key) {
		percent.WriteString("%" + hex(c))
		uniform.WriteString(`\u00` + hex(c))
		wrapped.WriteByte(c)
		joined.WriteByte(c)
		if i%8 == 7 {
			wrapped.WriteString(`\n`)
		}
		if i%11 == 10 {
			joined.WriteString("-")
		}
	}
	r := safetext.NewRedactor(key, "s3cr3t!")
	for _, hidden := range []string{
		key, uniform.String(), percent.String(), wrapped.String(), joined.String(), "a s3cr3t! b", "s3-cr3t",
		strings.ReplaceAll(uniform.String(), `\`, `\\`), key[3:22],
	} {
		if !r.Reveals("detail " + hidden + " end") {
			t.Errorf("not seen in %q", hidden)
		}
	}
	for _, plain := range []string{"", "no longer any instances available", "0123456789", `\`, "%", "%4", `\u00`} {
		if r.Reveals(plain) {
			t.Errorf("seen in %q", plain)
		}
	}
}

func hex(c byte) string {
	const digits = "0123456789ABCDEF"
	return string([]byte{digits[c>>4], digits[c&15]})
}

func TestWriter(t *testing.T) {
	in := "start " + key + "\nhalf\rHF_TOKEN=abc\r\n" +
		"pre -----BEGIN RSA PRIVATE KEY-----\nMIIabc\r\ndef\n-----END RSA PRIVATE KEY----- post\nend"
	want := "start ***\nhalf\rHF_TOKEN=***\r\npre ***\n post\nend"
	for _, size := range []int{1, 2, 7, 1000} {
		var out bytes.Buffer
		w := safetext.NewRedactor(key).Writer(&out)
		for rest := []byte(in); len(rest) > 0; {
			n := min(size, len(rest))
			if wrote, err := w.Write(rest[:n]); err != nil || wrote != n {
				t.Fatal(wrote, err)
			}
			rest = rest[n:]
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("in pieces of %d:\n got %q\nwant %q", size, out.String(), want)
		}
	}
}

func TestWriterBoundsALine(t *testing.T) {
	var out bytes.Buffer
	w := safetext.NewRedactor().Writer(&out)
	for range 3 {
		if _, err := w.Write(bytes.Repeat([]byte("x"), 1<<19)); err != nil {
			t.Fatal(err)
		}
	}
	if out.Len() < 1<<20 {
		t.Errorf("%d bytes passed on", out.Len())
	}
}

func FuzzRedactor(f *testing.F) {
	f.Add("key "+key+" x", 3)
	f.Add("-----BEGIN PRIVATE KEY-----", 11)
	f.Fuzz(func(t *testing.T, s string, at int) {
		r := safetext.NewRedactor(key)
		if at < 0 || at > len(s) {
			at = 0
		}
		if got := r.String(s[:at] + key + s[at:]); strings.Contains(got, key) {
			t.Errorf("key left in %q", got)
		}
		r.Reveals(s)
		var out bytes.Buffer
		w := r.Writer(&out)
		if _, err := w.Write([]byte(s)); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	})
}
