package sim

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// imagePath is the PATH of the simulated image.
const imagePath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// tools are the programs of this machine that pods are given under the names
// an image has them.
type tools struct {
	python string // "" where there is none
}

// findTools looks for a Python 3: the first program of that name, not a script
// that would look for one by itself in its user's environment, as version
// managers install them. Where there are only such scripts one is asked.
func findTools() tools {
	var scripts []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH") + ":" + imagePath) {
		path := filepath.Join(dir, "python3")
		if _, err := exec.LookPath(path); err != nil || !filepath.IsAbs(path) {
			continue
		}
		if isProgram(path) {
			return tools{python: path}
		}
		scripts = append(scripts, path)
	}
	for _, path := range scripts {
		out, err := exec.Command(path, "-c", "import sys; print(sys.executable)").Output()
		if exe := strings.TrimSpace(string(out)); err == nil && filepath.IsAbs(exe) {
			return tools{python: exe}
		}
	}
	return tools{}
}

// isProgram reports whether a file is a program of the machine, not a script.
func isProgram(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	magic := make([]byte, 4)
	_, err = io.ReadFull(f, magic)
	return err == nil && string(magic) == "\x7fELF"
}

// scripts are the files of the pod's /usr/local/bin.
func (t tools) scripts(p *pod) map[string]string {
	out := map[string]string{}
	if t.python != "" {
		script := "#!/bin/sh\nexec " + quote(t.python) + " \"$@\"\n"
		out["python3"], out["python"] = script, script
	}
	if p.req.GPU != nil {
		out["nvidia-smi"] = nvidiaSMI(p.req.GPU.ID, p.gpus, p.cuda)
	}
	return out
}

// nvidiaSMI is a script that answers like nvidia-smi on a host with n GPUs.
func nvidiaSMI(name string, n int, cuda string) string {
	return fmt.Sprintf(`#!/bin/sh
name=%s n=%d cuda=%s
each() {
  i=0
  while [ "$i" -lt "$n" ]; do
    "$@"
    i=$((i + 1))
  done
}
listed() { echo "GPU $i: $name (UUID: GPU-00000000-0000-4000-8000-00000000000$i)"; }
queried() {
  line=
  for f in $(echo "$fields" | tr , ' '); do
    case $f in
      name | gpu_name) v=$name ;;
      index) v=$i ;;
      count) v=$n ;;
      utilization.gpu) v='87 %%' ;;
      utilization.memory) v='61 %%' ;;
      memory.total) v='24576 MiB' ;;
      memory.used) v='15000 MiB' ;;
      memory.free) v='9576 MiB' ;;
      driver_version) v=575.57.08 ;;
      uuid | gpu_uuid) v=GPU-00000000-0000-4000-8000-00000000000$i ;;
      *) v='[N/A]' ;;
    esac
    line="${line:+$line, }$v"
  done
  echo "$line"
}
[ "$n" -gt 0 ] || { [ "$1" = -L ] || echo "No devices were found"; exit 0; }
fields=
for a in "$@"; do
  case $a in
    --query-gpu=*) fields=${a#*=} ;;
    -L | --list-gpus) each listed; exit ;;
  esac
done
if [ -n "$fields" ]; then each queried; exit; fi
echo "NVIDIA-SMI 575.57.08    Driver Version: 575.57.08    CUDA Version: $cuda"
each listed
`, quote(name), n, quote(cuda))
}

// quote makes one word of a shell's text.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
