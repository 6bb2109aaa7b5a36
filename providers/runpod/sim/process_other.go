//go:build !linux

package sim

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
)

// selfExe is never run here.
const selfExe = ""

// errPlatform says what pods need.
var errPlatform = errors.New("the simulator's pods need Linux (namespaces or subreapers); this is " + runtime.GOOS +
	": run it in a Linux virtual machine or container")

func supported() error { return errPlatform }

func lockHome(string) (func(), error) { return nil, errPlatform }

func reservePort() (port int, release func(), err error) { return 0, nil, errPlatform }

func (o Options) chooseForm() (string, error) { return "", errPlatform }

func (spec containerSpec) prepareRoot() error { return errPlatform }

// process stands for a container, of which there are none.
type process struct {
	done chan struct{}
	code int
}

func startProcess([]string, containerSpec, *net.TCPListener, func(io.Reader)) (*process, error) {
	return nil, errPlatform
}

func (p *process) kill() {}

// PodInit says that there are no pods on this platform.
func PodInit([]string) int {
	fmt.Fprintln(os.Stderr, errPlatform)
	return 125
}

func findSSHD() string { return "" }
