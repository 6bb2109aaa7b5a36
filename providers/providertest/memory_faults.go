package providertest

import (
	"context"

	"github.com/overbrainer/overbrainer/providers"
)

// Fault makes calls of one method fail.
type Fault struct {
	// Op is the method's name, Arg what it is about ("" = anything).
	Op, Arg string
	// Skip lets so many matching calls pass first; Times is how many fail then,
	// 0 meaning one, a negative number all.
	Skip, Times int
	// Err is what the call fails with.
	Err error
	// After lets the effect happen before the call fails, as an answer that was
	// lost does.
	After bool
	// Do is called in the middle of the call, before the effect or after it: to
	// cancel, to block, to look at what is recorded.
	Do func()
}

// Fail adds a fault. Faults are looked at in the order in which they were
// added; the first that matches a call is the one.
func (m *Memory) Fail(f Fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f.Times == 0 {
		f.Times = 1
	}
	m.faults = append(m.faults, &f)
}

// Error makes an error as a provider would give it.
func Error(kind providers.Kind, op, message string) *providers.Error {
	return &providers.Error{Kind: kind, Op: op, Message: message}
}

// armed is the fault of one call; without one, nil fields.
type armed struct{ *Fault }

// enter records a call and finds its fault.
func (m *Memory) enter(op, arg string) armed {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, Call{Op: op, Arg: arg})
	for _, f := range m.faults {
		if f.Op != op || f.Arg != "" && f.Arg != arg || f.Times == 0 {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			return armed{}
		}
		if f.Times > 0 {
			f.Times--
		}
		return armed{f}
	}
	return armed{}
}

// before applies a fault that comes before the effect.
func (a armed) before() error {
	if a.Fault == nil || a.After {
		return nil
	}
	if a.Do != nil {
		a.Do()
	}
	return a.Err
}

// after applies a fault that comes after the effect.
func (a armed) after() error {
	if a.Fault == nil || !a.After {
		return nil
	}
	if a.Do != nil {
		a.Do()
	}
	return a.Err
}

// read applies any fault to a call without an effect, and its context.
func (a armed) read(ctx context.Context) error {
	if a.Fault != nil {
		if a.Do != nil {
			a.Do()
		}
		if a.Err != nil {
			return a.Err
		}
	}
	if ctx.Err() != nil {
		return &providers.Error{Kind: providers.Transient, Message: "interrupted"}
	}
	return nil
}
