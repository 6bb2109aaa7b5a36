package main

import (
	"errors"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// lend makes a private directory with the socket of an ssh agent that has one
// key, which is in no file. end takes both away.
func lend(key ssh.Signer) (dir, socket string, end func(), err error) {
	if dir, err = os.MkdirTemp("", "overbrainer-ssh-"); err != nil { // 0700
		return "", "", nil, err
	}
	socket = filepath.Join(dir, "agent")
	l, err := net.Listen("unix", socket)
	if err != nil {
		_ = os.RemoveAll(dir)
		return "", "", nil, err
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_ = agent.ServeAgent(lender{key}, conn)
			}()
		}
	}()
	return dir, socket, func() { _ = l.Close(); _ = os.RemoveAll(dir) }, nil
}

// lender is an agent that signs with its key, and does nothing else.
type lender struct{ key ssh.Signer }

var errLender = errors.New("this agent only signs")

func (l lender) List() ([]*agent.Key, error) {
	public := l.key.PublicKey()
	return []*agent.Key{{Format: public.Type(), Blob: public.Marshal(), Comment: "overbrainer"}}, nil
}

func (l lender) Sign(key ssh.PublicKey, data []byte) (*ssh.Signature, error) {
	if string(key.Marshal()) != string(l.key.PublicKey().Marshal()) {
		return nil, errLender
	}
	return l.key.Sign(nil, data)
}

func (l lender) Signers() ([]ssh.Signer, error) { return []ssh.Signer{l.key}, nil }
func (lender) Add(agent.AddedKey) error         { return errLender }
func (lender) Remove(ssh.PublicKey) error       { return errLender }
func (lender) RemoveAll() error                 { return errLender }
func (lender) Lock([]byte) error                { return errLender }
func (lender) Unlock([]byte) error              { return errLender }
