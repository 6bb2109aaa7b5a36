package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agext/levenshtein"
	"github.com/hashicorp/hcl/v2"
)

// at makes an error at a place.
func at(rng hcl.Range, summary, detail string) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: rng.Ptr()}
}

// warnAt makes a warning at a place.
func warnAt(rng hcl.Range, summary, detail string) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagWarning, Summary: summary, Detail: detail, Subject: rng.Ptr()}
}

// place is file:line, as people write it.
func place(rng hcl.Range) string { return fmt.Sprintf("%s:%d", rng.Filename, rng.Start.Line) }

// nearest finds the name that was probably meant; "" if none is near.
func nearest(name string, names []string) string {
	best, bestDistance := "", 0
	limit := 1 + utf8.RuneCountInString(name)/4
	lower := strings.ToLower(name)
	for _, candidate := range names {
		d := levenshtein.Distance(lower, strings.ToLower(candidate), nil)
		if d <= limit && (best == "" || d < bestDistance || d == bestDistance && candidate < best) {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// meant is a question for the name that was probably meant, "" if none is near.
func meant(name string, names []string) string {
	if n := nearest(name, names); n != "" {
		return "did you mean `" + n + "`?"
	}
	return ""
}

// didYouMean is a sentence with the name that was probably meant, or else with
// what there is.
func didYouMean(name string, names []string, prefix string) string {
	if n := nearest(name, names); n != "" {
		return "did you mean `" + prefix + n + "`?"
	}
	if len(names) == 0 {
		return ""
	}
	names = slices.Clone(names)
	slices.Sort(names)
	more := ""
	if len(names) > 12 {
		names, more = names[:12], ", …"
	}
	return "there is " + prefix + strings.Join(names, ", "+prefix) + more
}

// tidy makes diagnostics fit to leave the package: without the values that
// HCL attaches, in one voice, each once, in the order of the text. What is wrong
// at one place in several instances of a block is told of the first.
func tidy(diags hcl.Diagnostics) hcl.Diagnostics {
	seen := map[string]bool{}
	out := make(hcl.Diagnostics, 0, len(diags))
	faults := map[string]int{}            // of an instance, at a place
	alike := map[string]*hcl.Diagnostic{} // by place, and which of its faults there it is
	others := map[*hcl.Diagnostic]int{}   // instances with the same fault
	for _, d := range diags {
		clean := &hcl.Diagnostic{
			Severity: d.Severity, Summary: voice(d.Summary), Detail: voice(d.Detail),
			Subject: d.Subject, Context: d.Context,
		}
		place := fmt.Sprint(clean.Severity, clean.Summary, clean.Subject)
		inst, of := d.Extra.(*instance)
		key := place + clean.Detail
		if of {
			key += " " + inst.addr
		}
		if seen[key] {
			continue
		}
		seen[key] = true
		if of {
			faults[place+inst.addr]++
			place = fmt.Sprint(place, " ", faults[place+inst.addr])
			if first := alike[place]; first != nil {
				others[first]++
				continue
			}
			clean.Detail = hint(clean.Detail, inst.told())
			alike[place] = clean
		}
		out = append(out, clean)
	}
	for d, n := range others {
		more := "one more instance"
		if n > 1 {
			more = fmt.Sprintf("%d more instances", n)
		}
		d.Detail += ", and in " + more
	}
	slices.SortStableFunc(out, func(a, b *hcl.Diagnostic) int {
		if a.Subject == nil || b.Subject == nil {
			return cmp.Compare(boolInt(a.Subject == nil), boolInt(b.Subject == nil))
		}
		return cmp.Or(
			cmp.Compare(a.Subject.Filename, b.Subject.Filename),
			cmp.Compare(a.Subject.Start.Byte, b.Subject.Start.Byte),
			cmp.Compare(a.Severity, b.Severity),
			cmp.Compare(a.Summary, b.Summary),
			cmp.Compare(a.Detail, b.Detail),
		)
	})
	if len(out) > maxDiagnostics {
		more := len(out) - maxDiagnostics
		out = append(out[:maxDiagnostics], &hcl.Diagnostic{
			Severity: hcl.DiagError, Summary: fmt.Sprintf("%d more", more), Detail: "only the first are shown",
		})
	}
	return out
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// voice makes HCL's own messages sound like ours: lower case, no full stop.
func voice(s string) string {
	s = strings.TrimSpace(s)
	if strings.HasSuffix(s, ".") && !strings.HasSuffix(s, "..") {
		s = s[:len(s)-1]
	}
	r, size := utf8.DecodeRuneInString(s)
	next, _ := utf8.DecodeRuneInString(s[size:])
	if unicode.IsUpper(r) && (unicode.IsLower(next) || next == ' ') {
		s = string(unicode.ToLower(r)) + s[size:]
	}
	return s
}

// list writes names as "a, b and c".
func list(names []string) string {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
