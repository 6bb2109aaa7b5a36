package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

func completionCommand(a *app) *command {
	shells := slices.Sorted(maps.Keys(completionScripts))
	return &command{
		name:     "completion",
		synopsis: "the script that completes this program's command lines",
		usage:    "SHELL",
		text: `Prints the script with which a shell (bash, zsh or fish) completes commands,
		flags, addresses, run IDs and names of the configuration. Its start file has to
		evaluate it; zsh after compinit.`,
		example: `$ eval "$(overbrainer completion bash)"    # in ~/.bashrc
		$ eval "$(overbrainer completion zsh)"     # in ~/.zshrc
		$ overbrainer completion fish | source     # in ~/.config/fish/config.fish`,
		least: 1, most: 1,
		run: func(_ context.Context, args []string) error {
			script, ok := completionScripts[args[0]]
			if !ok {
				e := &usageError{text: "there is no completion for " + args[0], hint: "there is one for " + strings.Join(shells, ", ")}
				if near := nearest(args[0], shells); near != "" {
					e.hint = "did you mean " + near + "?"
				}
				return e
			}
			if _, err := io.WriteString(a.out, script); err != nil {
				return fmt.Errorf("write the script: %w", err)
			}
			return nil
		},
	}
}

// completionFiles are the scripts' names where a package places them.
var completionFiles = map[string]string{"bash": "overbrainer.bash", "zsh": "_overbrainer", "fish": "overbrainer.fish"}

// completionScripts are the shells' ends of completion: each hands the line to
// the program, found by its name, and takes words back. zsh and fish quote the
// words themselves, and want the flag before its value.
var completionScripts = map[string]string{
	"bash": "complete -C overbrainer overbrainer\n",
	"zsh": `#compdef overbrainer
_overbrainer() {
  local -a found
  local line="${(j: :)words[1,CURRENT]}"
  found=("${(@f)$(COMP_LINE="$line" overbrainer 2>/dev/null)}")
  [[ -n $found ]] || return 1
  if [[ $PREFIX == -*=* ]]; then
    compset -P '*='
  fi
  if [[ ${#found} -eq 1 && $found[1] == *= ]]; then
    compadd -S '' -a found
  else
    compadd -a found
  fi
}
if [[ $funcstack[1] == _overbrainer ]]; then
  _overbrainer "$@"
else
  compdef _overbrainer overbrainer
fi
`,
	"fish": `function __overbrainer_complete
    set -lx COMP_LINE (commandline -cp)
    set -l flag (string match -r -- '^-[^=]*=' (commandline -ct))
    for word in (overbrainer 2>/dev/null)
        echo "$flag$word"
    end
end
complete -c overbrainer -f -a '(__overbrainer_complete)'
`,
}
