package main

import (
	"errors"
	"fmt"
	"strings"
)

// changeDir takes -chdir=DIR off the front of the arguments.
func changeDir(args []string) (dir string, rest []string, err error) {
	dir = "."
	for len(args) > 0 {
		name := strings.TrimPrefix(strings.TrimPrefix(args[0], "-"), "-")
		value, ok := strings.CutPrefix(name, "chdir=")
		if !ok || name == args[0] {
			if name == "chdir" && name != args[0] {
				return "", nil, errors.New("-chdir takes a directory: -chdir=DIR")
			}
			break
		}
		dir, args = value, args[1:]
	}
	return dir, args, nil
}

// withDefaults puts the flags of OVERBRAINER_CLI_ARGS behind the command's
// name, then those of OVERBRAINER_CLI_ARGS_plan, or _run_list, for this command
// alone, so that what is more particular comes later and wins, and what stands
// on the command line last.
func withDefaults(args []string, environ func(string) string) ([]string, error) {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") || internalCommand(args[0]) || args[0] == "help" {
		return args, nil
	}
	n := 1
	if len(args) > 1 && commandGroups[args[0]] && !strings.HasPrefix(args[1], "-") {
		n = 2
	}
	own := strings.ReplaceAll(strings.Join(args[:n], "_"), "-", "_")
	var extra []string
	for _, variable := range []string{"OVERBRAINER_CLI_ARGS", "OVERBRAINER_CLI_ARGS_" + own} {
		words, err := splitWords(environ(variable))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", variable, err)
		}
		extra = append(extra, words...)
	}
	out := append([]string{}, args[:n]...)
	return append(append(out, extra...), args[n:]...), nil
}

// splitWords splits at spaces, as a shell would, with quotes and backslashes.
func splitWords(s string) ([]string, error) {
	var words []string
	var word strings.Builder
	open, quote := false, rune(0)
	runes := []rune(s)
	for i := 0; i < len(runes); i++ {
		switch c := runes[i]; {
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && quote != '\'' && i+1 < len(runes):
			i++
			word.WriteRune(runes[i])
			open = true
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, open = c, true
		case c == ' ' || c == '\t' || c == '\n':
			if open {
				words = append(words, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteRune(c)
			open = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote is not closed")
	}
	if open {
		words = append(words, word.String())
	}
	return words, nil
}

func wantsJSON(args []string) bool {
	for _, arg := range args {
		switch arg {
		case "-json", "--json", "-json=true", "--json=true":
			return true
		case "--":
			return false
		}
	}
	return false
}
