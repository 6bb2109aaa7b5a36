package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/overbrainer/overbrainer/providers/runpod/sim"
)

// names of the runs: one word each, which is how boundaries tell them apart.
func names() []string { return []string{"left", "right"} }

const (
	soldOut = "NVIDIA A40" // what left asks for first
	unclear = "NVIDIA L4"  // what right asks for first
)

const configuration = `provider "runpod" {
  simulator = true
}

cap "day" {
  max_hours      = 24
  max_cost_usd   = 100
  max_total_usd  = 1000
  boot_grace     = "12h"
  retrieve_grace = "12h"
}

target "left" {
  gpu_types         = ["` + soldOut + `", "NVIDIA RTX A5000"]
  image             = "registry.example/train:1.0"
  container_disk_gb = 20
}

target "right" {
  gpu_types         = ["` + unclear + `", "NVIDIA RTX A4000"]
  image             = "registry.example/train:1.0"
  container_disk_gb = 20
}
`

const block = `
run "RUN-NAME" {
  target  = target.RUN-NAME
  cap     = cap.day
  upload  = ["job.sh", "data/**"]
  command = ["sh", "job.sh"]
  env     = { LEDGER = "LEDGER-FILE", NAME = "RUN-NAME" }
  outputs = ["out/**"]
}
`

// job writes down that it begins and that it is done, where all lives can see
// it.
const job = `echo "start $NAME" >>"$LEDGER"
mkdir -p out/deep
echo "result of $NAME" >out/deep/answer
cat data/one data/two >out/small
cp data/big out/big
sleep 0.3
echo "done $NAME" >>"$LEDGER"
`

// bigFile is more than goes into a batch: it travels in pieces.
const bigFile = 9<<20 + 12345

func (w *world) ledger() string { return filepath.Join(filepath.Dir(w.dir), "ledger") }

// fresh makes a new project and an empty account with the scenario's faults.
// first are armed before those.
func (w *world) fresh(ctx context.Context, first ...sim.Fault) error {
	if err := w.sim.Reset(ctx); err != nil {
		return err
	}
	for _, f := range append(first,
		sim.Fault{Name: "capacity:" + soldOut},
		sim.Fault{Name: "create-500-after-effect", GPU: unclear},
	) {
		if err := w.sim.Fault(ctx, f); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(w.dir); err != nil {
		return err
	}
	if err := os.Remove(w.ledger()); err != nil && !os.IsNotExist(err) {
		return err
	}
	text := configuration
	for _, name := range names() {
		text += strings.NewReplacer("RUN-NAME", name, "LEDGER-FILE", w.ledger()).Replace(block)
	}
	for name, data := range map[string][]byte{
		"overbrainer.hcl": []byte(text), "job.sh": []byte(job),
		"data/one": bytes.Repeat([]byte("one "), 50000), "data/two": []byte("two"), "data/big": big(),
	} {
		path := filepath.Join(w.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// big is always the same and has no pattern.
func big() []byte {
	data := make([]byte, bigFile)
	source := rand.NewChaCha8([32]byte{1})
	_, _ = source.Read(data)
	return data
}

// results are the files that a run must bring home.
func (w *world) results(name string) (map[string][]byte, error) {
	one, err := os.ReadFile(filepath.Join(w.dir, "data", "one"))
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		"out/deep/answer": fmt.Appendf(nil, "result of %s\n", name),
		"out/small":       append(one, "two"...),
		"out/big":         big(),
	}, nil
}
