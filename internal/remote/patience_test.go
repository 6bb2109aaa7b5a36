package remote

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/overbrainer/overbrainer/internal/remote/remotetest"
)

// A machine that opens sessions and never answers what is to be run in them is
// given up when the caller's time is over, not when the connection breaks.
func TestRunIsGivenUpUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := remotetest.Key(t, "")
		ours, theirs := pipe()
		go serveUnanswered(theirs, host)
		c, err := Dial(t.Context(), Config{
			Host: "pod", Port: 22, User: "root", Signer: remotetest.Key(t, ""), HostKey: host.PublicKey(),
			Dial: func(context.Context, string, string) (net.Conn, error) { return ours, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		start := time.Now()
		_, err = c.Run(ctx, Command{Script: "true"})
		if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took > 20*time.Second {
			t.Errorf("%v after %s", err, took)
		}
		if c.Err() != nil {
			t.Errorf("the connection ended: %v", c.Err())
		}
		_ = c.Close()
		theirs.Close()
	})
}

// serveUnanswered is an SSH server that opens every session and answers nothing
// in it, but keepalives.
func serveUnanswered(nc net.Conn, host ssh.Signer) {
	serve(nc, host, func(ch ssh.NewChannel) {
		_, inner, err := ch.Accept()
		if err != nil {
			return
		}
		go func() {
			for range inner { // taken, never answered
			}
		}()
	})
}

// Over a long way many small files take a few round trips, not one each, and a
// large one has enough under way not to wait for the way.
func TestDistance(t *testing.T) {
	const delay, count = 150 * time.Millisecond, 300
	s := remotetest.StartBuiltin(t, remotetest.Options{})
	p := remotetest.StartProxy(t, s, delay)
	c := dial(t, s, p)
	src, there, back := t.TempDir(), t.TempDir(), t.TempDir()
	files := map[string][]byte{}
	for i := range count {
		files[string(rune('a'+i%26))+"/"+time.Duration(i).String()] = content(uint64(i), 4<<10)
	}
	list := tree(t, src, files)
	each := 2 * delay * count
	for name, transfer := range map[string]func() error{
		"up": func() error {
			return c.Push(t.Context(), Push{Dir: there, Staging: there + "/.s", Files: list, Open: opener(src)})
		},
		"down": func() error { return c.Pull(t.Context(), Pull{Dir: src, Files: list, Dest: back}) },
	} {
		start := time.Now()
		if err := transfer(); err != nil {
			t.Fatal(err)
		}
		// A third leaves room for a slow machine, and none for a trip a file.
		if took := time.Since(start); took > each/3 {
			t.Errorf("%s: %d files took %s, %s would be a round trip each", name, count, took, each)
		}
	}
	same(t, there, files)
	same(t, back, files)
	const large = 512 << 20
	if stripes, channels := channelsFor(2 * delay); stripes*window*15 < large*int(2*delay/time.Millisecond)/1000 || channels < stripes {
		t.Errorf("with %d stripes and %d channels over %s, %d bytes take more than 15 s on any line", stripes, channels, 2*delay, large)
	}
}
