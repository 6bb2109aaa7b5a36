package sim_test

import (
	"strings"
	"testing"

	"github.com/overbrainer/overbrainer/providers/runpod/sim"
)

// TestImages: what an image has and lacks, and what a mount hides of it.
func TestImages(t *testing.T) {
	const look = `for p in tar curl python3; do command -v $p >/dev/null && echo "has $p"; done
		python3 -c 'print("python", 6 * 7)'; mkdir -p "${OVERBRAINER_POD_ROOT-}/work"; echo up; exec sleep 1000`
	for name, c := range map[string]struct {
		fault string
		mount bool
		dead  bool // it never starts
		says  []string
		lacks []string
	}{
		"lacking":                 {fault: "image-lacks:tar,curl", says: []string{"has python3", "python 42"}, lacks: []string{"has tar", "has curl"}},
		"without certificates":    {fault: "image-lacks:ca-certificates", says: []string{"has tar", "has curl"}},
		"entrypoint":              {fault: "image-entrypoint:/workspace/data/start.sh", says: []string{"the image starts", "has tar"}},
		"entrypoint, hidden":      {fault: "image-entrypoint:/workspace/data/start.sh", mount: true, dead: true, says: []string{"/workspace/data/start.sh: no such file", "container exited with code 125"}, lacks: []string{"the image starts"}},
		"Python":                  {fault: "image-python:/workspace/data/venv/bin", says: []string{"has python3", "python 42"}},
		"Python, hidden":          {fault: "image-python:/workspace/data/venv/bin", mount: true, says: []string{"has tar"}, lacks: []string{"has python3", "python 42"}},
		"another path is mounted": {fault: "image-entrypoint:/opt/start.sh", mount: true, says: []string{"the image starts"}},
	} {
		t.Run(name, func(t *testing.T) {
			forms(t, func(t *testing.T, form string) {
				w := serve(t, sim.Options{Form: form, Speed: 100})
				if err := w.ctl.Fault(t.Context(), sim.Fault{Name: c.fault}); err != nil {
					t.Fatal(err)
				}
				body := podBody(look, nil)
				if c.mount {
					vol := w.want(w.call("POST", "network-volumes", map[string]any{"name": "v", "size": 10, "dataCenter": "EU-RO-1"}), 201).body["id"].(string)
					body["mounts"] = map[string]any{"network": []any{map[string]any{"volumeId": vol, "path": "/workspace/data"}}}
				}
				id := w.want(w.call("POST", "pods", body), 201).body["id"].(string)
				last := c.says[len(c.says)-1]
				if !c.dead {
					last = `"up"`
				}
				said := w.log(id, last)
				for _, text := range c.says {
					if !strings.Contains(said, text) {
						t.Errorf("no %q in\n%s", text, said)
					}
				}
				for _, text := range c.lacks {
					if strings.Contains(said, text) {
						t.Errorf("%q in\n%s", text, said)
					}
				}
			})
		})
	}
	w := serve(t, sim.Options{Form: sim.FormRelocated})
	for _, bad := range []string{"image-lacks", "image-lacks:", "image-lacks:a/b", "image-lacks:bash", "image-lacks:sshd", "image-entrypoint", "image-entrypoint:x", "image-python:/", "image-python:/a/../b", "ssh-port", "ssh-port:0", "ssh-port:70000"} {
		if err := w.ctl.Fault(t.Context(), sim.Fault{Name: bad}); err == nil {
			t.Errorf("%s was armed", bad)
		}
	}
}
