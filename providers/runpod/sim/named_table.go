package sim

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

var (
	onCreate = []string{opCreatePod}
	onRead   = []string{opReadPod}
	onDelete = []string{opDeletePod}
	onList   = []string{opListPods}
	onChange = []string{opUpdatePod, opDeletePod, opActPod}
	onSecret = []string{opListSecrets, opCreateSecret, opReadSecret, opUpdateSecret, opDeleteSecret}
)

// namedFaults are the faults by name. Those of any call take an operation.
var namedFaults = map[string]namedFault{
	// Any call.
	"500":                  {does: "a call fails with 500 and has no effect", out: answered(500, false)},
	"500-after-effect":     {does: "a call has its effect and answers 500", out: answered(500, true)},
	"reset":                {does: "the connection is cut after the request was read, without effect", out: cutting(cutReset, false)},
	"reset-after-effect":   {does: "a call has its effect, then the connection is cut", out: cutting(cutReset, true)},
	"timeout":              {does: "a call is never answered and has no effect", out: cutting(cutTimeout, false)},
	"timeout-after-effect": {does: "a call has its effect and is never answered", out: cutting(cutTimeout, true)},
	"cut-answer":           {does: "a call has its effect, its answer is cut in the middle", out: cutting(cutHalf, true)},
	"429":                  {does: "a call is turned away with 429; argument: Retry-After in seconds", out: tooMany, arg: retryAfter},
	"401":                  {does: "a call's key is refused", out: detailed(401, "missing bearer token")},
	"1010":                 {does: "the edge turns a call away with 403 and plain text", out: outcome{status: 403, text: "error code: 1010"}},
	"html-404":             {does: "a proxy answers 404 with a page", out: outcome{status: 404, text: "<html><body>404 page not found</body></html>"}},
	"api-down":             {does: "nobody answers, neither client nor pods; argument: real seconds from the first call on", who: "any", times: forEver, out: cutting(cutRefused, false), arg: lasting},
	"pod-api-down":         {does: "pods cannot reach the API; argument: real seconds", who: "pod", times: forEver, out: cutting(cutRefused, false), arg: lasting},
	"pod-key-read-only":    {does: "the keys of pods may read and change nothing", on: onChange, who: "pod", times: forEver, out: detailed(403, "access denied")},

	// Creating pods.
	"create-500-after-effect": {does: "the pod exists, the create call answers 500", on: onCreate, out: answered(500, true)},
	"create-500-no-effect":    {does: "the create call answers 500, there is no pod", on: onCreate, out: answered(500, false)},
	"create-502-after-effect": {does: "the pod exists, a proxy answers 502 with a page", on: onCreate, out: outcome{status: 502, real: true, text: "<html>502 Bad Gateway</html>"}},
	"create-408-after-effect": {does: "the pod exists, the create call answers 408", on: onCreate, out: answered(408, true)},
	"create-timeout":          {does: "the pod exists, the create call is never answered", on: onCreate, out: cutting(cutTimeout, true)},
	"create-reset":            {does: "the pod exists, the connection is cut before the answer", on: onCreate, out: cutting(cutReset, true)},
	"create-reset-no-effect":  {does: "the connection is cut, there is no pod", on: onCreate, out: cutting(cutReset, false)},
	"create-unreadable":       {does: "the pod exists, the answer is no JSON", on: onCreate, out: outcome{status: 201, real: true, text: "created"}},
	"capacity":                {does: "no machine is free; argument: only for this GPU type, until reset", on: onCreate, out: capacityOutcome(), arg: ofType},
	"forbidden":               {does: "the account may not use this pool; argument: only for this GPU type, until reset", on: onCreate, out: detailed(403, "access denied"), arg: ofType},
	"no-credits":              {does: "the balance is too low", on: onCreate, out: detailed(402, "insufficient balance")},
	"422":                     {does: "the create call does not match the schema", on: onCreate, out: detailed(422, "Request validation failed.", "$.disk: minimum: got 0, want 1")},
	"cmd-unknown":             {does: "an older API, to which cmd is unknown", on: onCreate, times: forEver, out: detailed(422, "Request validation failed.", "$: additional properties 'cmd' not allowed")},
	"400":                     {does: "the create call breaks a rule that is the same for every type", on: onCreate, out: detailed(400, `ports: "22" is not a valid port mapping`)},
	"dearer":                  {does: "the next pod costs half as much again as the catalog says", on: onCreate, out: bending(func(k *knobs) { k.price = 1.5 })},
	"elsewhere":               {does: "the next pod lands in another data center than asked", on: onCreate, out: bending(func(k *knobs) { k.elsewhere = true })},
	"cuda-too-old":            {does: "the next pod's host has CUDA 12.1", on: onCreate, out: bending(func(k *knobs) { k.cuda = "12.1" })},
	"wrong-gpu-count":         {does: "the next pod's host has one GPU less than asked, which only the host knows", on: onCreate, out: bending(func(k *knobs) { k.lessGPUs = 1 })},
	"zero-gpus":               {does: "the next pod has no GPU, and the API says so", on: onCreate, out: bending(func(k *knobs) { k.lessGPUs, k.tellGPUs = 1<<20, true })},
	"ssh-never":               {does: "the next pod's SSH port is never mapped", on: onCreate, out: bending(func(k *knobs) { k.noSSH = true })},
	"pull-never":              {does: "the next pod's image is pulled for ever", on: onCreate, out: bending(func(k *knobs) { k.neverUp = true })},
	"pull-slow":               {does: "the next pod's image takes longer to pull; argument: nominal seconds, 60 without", on: onCreate, out: bending(func(k *knobs) { k.pull = time.Minute }), arg: slowPull},
	"image-lacks":             {does: "the next pod's image has not these programs, or not ca-certificates; argument: NAME or NAME,NAME", on: onCreate, out: outcome{pass: true}, arg: lacking, check: needs("programs")},
	"image-entrypoint":        {does: "the next pod's image has a start script of its own, which gets the command; argument: its path", on: onCreate, out: outcome{pass: true}, arg: placing(func(i *image, at string) { i.entrypoint = at }), check: needs("a path")},
	"image-python":            {does: "the next pod's image has its Python in one directory only; argument: its path", on: onCreate, out: outcome{pass: true}, arg: placing(func(i *image, at string) { i.python = at }), check: needs("a path")},
	"ssh-port":                {does: "the next pod's SSH is mapped to this port; argument: a port that is free by then", on: onCreate, out: outcome{pass: true}, arg: onPort, check: needs("a port")},
	"ssh-other-key":           {does: "the next pod's SSH shows another host key than it was given", on: onCreate, out: bending(func(k *knobs) { k.image.otherKey = true })},
	"ssh-refuses-key":         {does: "the next pod's SSH accepts no key", on: onCreate, out: bending(func(k *knobs) { k.image.refuses = true })},
	"secret-unresolved":       {does: "the next pod gets placeholders instead of secrets", on: onCreate, out: bending(func(k *knobs) { k.unresolved = true })},

	// Reading, listing, deleting pods, and their logs.
	"read-404":                {does: "a pod that exists is unknown to a read", on: onRead, out: detailed(404, "resource not found")},
	"read-500":                {does: "a read of a pod fails", on: onRead, out: answered(500, false)},
	"list-500":                {does: "the list of pods fails", on: onList, out: answered(500, false)},
	"list-empty":              {does: "the list of pods lags behind and is empty", on: onList, out: outcome{status: 200, body: map[string]any{"pods": []any{}}}},
	"delete-500":              {does: "a delete fails", on: onDelete, who: "any", out: answered(500, false)},
	"delete-500-after-effect": {does: "a delete has its effect and answers 500", on: onDelete, who: "any", out: answered(500, true)},
	"delete-ignored":          {does: "a delete is accepted and nothing happens", on: onDelete, who: "any", out: outcome{status: 204}},
	"logs-404":                {does: "a pod's log cannot be found", on: []string{opReadLog}, out: detailed(404, "resource not found")},
	"logs-400":                {does: "a log's cursor is refused", on: []string{opReadLog}, out: detailed(400, "Last-Event-ID: unknown cursor")},

	// Secrets and volumes.
	"secrets-403": {does: "the key may not use secrets", on: onSecret, times: forEver, out: detailed(403, "access denied")},
	"secrets-409": {does: "a secret's name is taken", on: []string{opCreateSecret}, out: detailed(409, "a secret with this name already exists")},
	"volume-500":  {does: "a volume cannot be deleted", on: []string{opDeleteVolume}, out: answered(500, false)},

	// The newest pod that runs, at once, else the next one once it runs; or the
	// pod of the Nth read.
	"pod-dies":                {does: "the pod is taken away", on: onRead, now: always(func(s *server, p *pod) { s.deletePod(p) })},
	"pod-exits":               {does: "the pod is stopped by the provider", on: onRead, now: always(func(s *server, p *pod) { s.stopPod(p) })},
	"container-restart":       {does: "the pod's main process dies, the host starts it again", on: onRead, now: always(func(s *server, p *pod) { s.crash(p, false) })},
	"container-restart-wiped": {does: "the pod's container is made anew with an empty disk and another port", on: onRead, now: always(func(s *server, p *pod) { s.crash(p, true) })},
	"ssh-drop":                {does: "the pod's SSH connections are cut", on: onRead, now: always(func(s *server, p *pod) { s.way(p).drop(0) })},
	"ssh-down":                {does: "no SSH connection to the pod lives; argument: real seconds", on: onRead, now: waysDown},
	"ssh-silent":              {does: "the pod's SSH port accepts and says nothing", on: onRead, now: always(func(s *server, p *pod) { s.way(p).setSilent(true) })},
	"ssh-cut":                 {does: "the pod's SSH is cut over and over while it sends; argument: BYTES or BYTESxTIMES", on: onRead, now: cutTransfers},
	"ssh-slow":                {does: "the pod's SSH sends slowly; argument: bytes a second", on: onRead, now: slowTransfers},
}

func capacityOutcome() outcome {
	r := noCapacity()
	return outcome{status: http.StatusBadRequest, body: clone(r.body)}
}

func onPort(r *rule, arg string, _ *server) error {
	n, err := strconv.ParseUint(arg, 10, 16)
	if err != nil || n == 0 {
		return fmt.Errorf("%q is no port", arg)
	}
	r.out.bend = func(k *knobs) { k.sshPort = int(n) }
	return nil
}

func slowPull(r *rule, arg string, _ *server) error {
	d, err := seconds(arg)
	r.out.bend = func(k *knobs) { k.pull = d }
	return err
}

// always does the same to a pod; there is nothing to say about it.
func always(act podAct) func(string) (podAct, error) {
	return func(arg string) (podAct, error) {
		if arg != "" {
			return nil, errors.New("it takes no argument")
		}
		return act, nil
	}
}

// way is the SSH port of a pod that runs.
func (s *server) way(p *pod) *forwarder {
	s.mu.Lock()
	defer s.mu.Unlock()
	return p.fwd
}

// forwarders are the SSH ports of all pods that have one.
func (s *server) forwarders() []*forwarder {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*forwarder
	for _, p := range s.pods {
		if p.fwd != nil {
			list = append(list, p.fwd)
		}
	}
	return list
}

func waysDown(arg string) (podAct, error) {
	d := 10 * time.Second
	if arg != "" {
		var err error
		if d, err = seconds(arg); err != nil {
			return nil, err
		}
	}
	return func(s *server, p *pod) { s.way(p).drop(d) }, nil
}

func cutTransfers(arg string) (podAct, error) {
	size, times, several := strings.Cut(arg, "x")
	n, err := strconv.ParseInt(size, 10, 64)
	k := 1
	if err == nil && several {
		k, err = strconv.Atoi(times)
	}
	if err != nil || n < 1 || k < 1 {
		return nil, fmt.Errorf("%q is not BYTES or BYTESxTIMES, as in ssh-cut:1000000x3", arg)
	}
	return func(s *server, p *pod) { s.way(p).cutEvery(n, k) }, nil
}

func slowTransfers(arg string) (podAct, error) {
	n, err := strconv.ParseInt(arg, 10, 64)
	if err != nil || n < 1 {
		return nil, fmt.Errorf("%q is not a number of bytes a second, as in ssh-slow:50000", arg)
	}
	return func(s *server, p *pod) { s.way(p).slow(n) }, nil
}
