package runpod

import (
	"context"
	"errors"
)

// findOrStart says why there is none: its pods are Linux processes.
func (s *simulator) findOrStart(context.Context) (simulatorAddress, error) {
	return simulatorAddress{}, errors.New("the simulator's pods need Linux; run overbrainer in WSL, a Linux virtual machine or a container to use it")
}
