package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os/exec"
	"time"
)

// event is a line of the stream of apply -json.
type event struct {
	Type    string    `json:"type"`
	Time    time.Time `json:"time"`
	Address string    `json:"address"`
	RunID   string    `json:"run_id"`
	Phase   string    `json:"phase"`
	Line    string    `json:"line"`
	State   string    `json:"state"`

	read time.Time // when the line was here
}

// events runs an apply and gives each event to take. It ends the topic where
// apply fails.
func (b *bench) events(cmd *exec.Cmd, take func(event)) {
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	b.must(err)
	b.must(cmd.Start())
	in := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			e := event{read: time.Now()}
			if json.Unmarshal(line, &e) == nil {
				take(e)
			}
		}
		if err != nil {
			break
		}
	}
	if err := cmd.Wait(); err != nil {
		b.Fatalf("apply: %v\n%s", err, said.String())
	}
}
