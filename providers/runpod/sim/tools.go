package sim

import (
	"fmt"
	"os/exec"
	"strings"
)

// imagePath is the PATH of the simulated image.
const imagePath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// tools are the programs of this machine that pods are given under the names
// an image has them.
type tools struct {
	python string // "" where there is none
}

// findTools looks for a Python. What PATH names may be a shim that depends on
// its user's environment, so the interpreter itself is asked where it is.
func findTools() tools {
	for _, name := range []string{"python3", "python"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		out, err := exec.Command(path, "-c", "import sys; print(sys.version_info[0], sys.executable)").Output()
		if exe, is := strings.CutPrefix(strings.TrimSpace(string(out)), "3 "); err == nil && is && exe != "" {
			return tools{python: exe}
		}
	}
	return tools{}
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
