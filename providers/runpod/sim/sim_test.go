package sim_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/overbrainer/overbrainer/providers/runpod/sim"
)

func TestMain(m *testing.M) {
	sim.Reexec()
	if len(os.Args) > 3 && os.Args[1] == serveArg {
		os.Exit(serveForEver(os.Args[2]))
	}
	os.Exit(m.Run())
}

// world is a simulator under test and a client of its API.
type world struct {
	t    *testing.T
	url  string
	home string
	ctl  *sim.Client
	stop func()
	key  string
}

func serve(t *testing.T, opt sim.Options) *world {
	t.Helper()
	if opt.Home == "" {
		opt.Home = filepath.Join(t.TempDir(), "a home, with punctuation")
	}
	opt.Log = t.Output()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- sim.Serve(ctx, opt) }()
	w := &world{t: t, home: opt.Home, key: "account-key"}
	w.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
		ended <- nil
	}
	t.Cleanup(w.stop)
	w.until("an address", func() bool {
		c, err := sim.Find(t.Context(), opt.Home)
		if err == nil {
			w.url, w.ctl = c.URL, c
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("Serve: %v", err)
		default:
		}
		return err == nil
	})
	pull := 0.0
	if err := w.ctl.Adjust(t.Context(), sim.Settings{PullSeconds: &pull}); err != nil {
		t.Fatal(err)
	}
	return w
}

// until waits for something that another process brings about.
func (w *world) until(what string, ok func() bool) {
	w.t.Helper()
	deadline := time.Now().Add(90 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			w.t.Fatalf("no %s in time", what)
		}
		<-time.After(20 * time.Millisecond)
	}
}

type answer struct {
	status int
	header http.Header
	body   map[string]any
	text   string
	err    error
}

func (w *world) call(method, path string, body any) answer {
	w.t.Helper()
	var in io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		in = strings.NewReader(b)
	default:
		data, err := json.Marshal(b)
		if err != nil {
			w.t.Fatal(err)
		}
		in = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.url+"/v2/"+path, in)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.key)
	req.Header.Set("User-Agent", "sim-test/1")
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	a := answer{status: resp.StatusCode, header: resp.Header, text: string(data), err: err}
	_ = json.Unmarshal(data, &a.body)
	return a
}

func (w *world) want(a answer, status int) answer {
	w.t.Helper()
	if a.err != nil || a.status != status {
		w.t.Fatalf("got %d %v %s, want %d", a.status, a.err, a.text, status)
	}
	return a
}

func podBody(script string, env map[string]string) map[string]any {
	if env == nil {
		env = map[string]string{}
	}
	return map[string]any{
		"name": "overbrainer-r-1", "image": "example/trainer:1", "cloud": "SECURE", "disk": 10,
		"gpu": map[string]any{"id": "NVIDIA A40", "count": 1}, "ports": []string{"22/tcp"},
		"env": env, "cmd": []string{"bash", "-c", script},
	}
}

// open begins to read a pod's log.
func (w *world) open(ctx context.Context, id, query, last string) io.ReadCloser {
	w.t.Helper()
	req, _ := http.NewRequestWithContext(ctx, "GET", w.url+"/v2/pods/"+id+"/logs?"+query, nil)
	req.Header.Set("Authorization", "Bearer "+w.key)
	req.Header.Set("User-Agent", "sim-test/1")
	if strings.Contains(last, "/") {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.Body
}

// log gives a pod's lines as far as they were sent.
func (w *world) log(id, until string) string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 90*time.Second)
	defer cancel()
	resp := w.open(ctx, id, "tail=5000", "")
	defer resp.Close()
	var all strings.Builder
	buf := make([]byte, 4096)
	for !strings.Contains(all.String(), until) {
		n, err := resp.Read(buf)
		all.Write(buf[:n])
		if err != nil {
			w.t.Fatalf("log ended without %q: %v\n%s", until, err, all.String())
		}
	}
	return all.String()
}

func forms(t *testing.T, test func(t *testing.T, form string)) {
	for _, form := range []string{sim.FormRelocated, sim.FormRoot} {
		t.Run(form, func(t *testing.T) {
			if form == sim.FormRoot && os.Geteuid() != 0 {
				t.Skip("the root form needs root")
			}
			test(t, form)
		})
	}
}

// bootstrap does what a real one does for SSH in either form.
const bootstrap = `
root=${OVERBRAINER_POD_ROOT-}
umask 077
mkdir -p "$root/root/.ssh" "$root/run/sshd"
rm -f "$root"/etc/ssh/ssh_host_*
printf %s "$HOST_KEY" | base64 -d > "$root/etc/ssh/ssh_host_ed25519_key"
echo "$AUTHORIZED" > "$root/root/.ssh/authorized_keys"
if [ "${OVERBRAINER_SSHD-}" = builtin ]; then : > "$root/run/sshd.started"
else chmod 755 /run/sshd; /usr/sbin/sshd -p "$OVERBRAINER_SSHD_PORT"; fi
nvidia-smi -L
echo "secret=${#HOST_KEY} gpus=$RUNPOD_GPU_COUNT port=$RUNPOD_TCP_PORT_22 $(python3 -c 'print(6*7)')"
echo started >> "$root/starts"
exec sleep 1000
`

func keyPair(t *testing.T) (ssh.Signer, string) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return signer, base64.StdEncoding.EncodeToString(pem.EncodeToMemory(block))
}

// greeted reports whether SSH says its name at once.
func greeted(addr string) bool {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return false
	}
	defer c.Close()
	_ = c.SetReadDeadline(time.Now().Add(2 * time.Second))
	n, _ := c.Read(make([]byte, 1))
	return n == 1
}

func TestPodIsReachedAndDies(t *testing.T) {
	forms(t, func(t *testing.T, form string) {
		w := serve(t, sim.Options{Form: form})
		host, hostText := keyPair(t)
		client, _ := keyPair(t)
		w.want(w.call("POST", "account/secrets", map[string]any{"name": "ob_host", "value": hostText}), 201)
		made := w.want(w.call("POST", "pods", podBody(bootstrap, map[string]string{
			"HOST_KEY": "{{ RUNPOD_SECRET_ob_host }}", "AUTHORIZED": string(ssh.MarshalAuthorizedKey(client.PublicKey()))})), 201)
		id := made.body["id"].(string)
		if made.body["status"] != "RUNNING" || made.body["runtime"] != nil || made.body["ssh"].(map[string]any)["direct"] != nil {
			t.Errorf("created pod: %s", made.text)
		}
		said := w.log(id, "secret=")
		if !strings.Contains(said, "secret="+strconv.Itoa(len(hostText))+" gpus=1") || !strings.Contains(said, "GPU 0: NVIDIA A40") || !strings.Contains(said, " 42") {
			t.Errorf("log: %s", said)
		}
		read := w.want(w.call("GET", "pods/"+id, nil), 200)
		if env := read.body["env"].(map[string]any)["HOST_KEY"]; env != "{{ RUNPOD_SECRET_ob_host }}" {
			t.Errorf("env tells %v", env)
		}
		direct := read.body["ssh"].(map[string]any)["direct"].(map[string]any)
		addr := "127.0.0.1:" + strconv.Itoa(int(direct["port"].(float64)))
		if err := w.ctl.Fault(t.Context(), sim.Fault{Name: "ssh-silent"}); err != nil || greeted(addr) {
			t.Errorf("a silent port greets, or %v", err)
		}
		if err := w.ctl.ClearFaults(t.Context()); err != nil || !greeted(addr) {
			t.Errorf("a port stays silent after its fault was cleared, or %v", err)
		}
		conn, err := ssh.Dial("tcp", addr, &ssh.ClientConfig{
			User: "root", Auth: []ssh.AuthMethod{ssh.PublicKeys(client)}, HostKeyCallback: ssh.FixedHostKey(host.PublicKey()), Timeout: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		run := func(cmd string) string {
			s, err := conn.NewSession()
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			out, err := s.CombinedOutput(cmd)
			if err != nil {
				t.Fatalf("%s: %v: %s", cmd, err, out)
			}
			return strings.TrimSpace(string(out))
		}
		span := sleepSpan()
		run("setsid sleep " + span + " >/dev/null 2>&1 </dev/null &")
		w.until("a daemon", func() bool { return sleepers(span) == 1 })
		w.want(w.call("DELETE", "pods/"+id, nil), 204)
		if left := sleepers(span); left > 0 {
			t.Errorf("%d processes left", left)
		}
		w.want(w.call("GET", "pods/"+id, nil), 404)
		w.want(w.call("DELETE", "pods/"+id, nil), 404)
		if left, _ := os.ReadDir(filepath.Join(w.home, "pods")); len(left) > 0 {
			t.Errorf("disks left: %v", left)
		}
	})
}
