package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"

	"github.com/hashicorp/hcl/v2"

	"github.com/overbrainer/overbrainer/apply"
	"github.com/overbrainer/overbrainer/internal/ui"
	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// Exit codes.
const (
	exitOK          = 0
	exitError       = 1
	exitChanges     = 2
	exitFormat      = 3
	exitJobFailed   = 10
	exitLocked      = 11
	exitNoCapacity  = 12
	exitInterrupted = 130
)

// status is an exit code of a command that has said everything already.
type status int

func (s status) Error() string { return "" }

// diagnosed is a configuration that is wrong, with the places.
type diagnosed struct {
	diags   hcl.Diagnostics
	sources map[string][]byte
}

func (d *diagnosed) Error() string { return d.diags.Error() }

// problem is an error that this package words itself.
type problem struct {
	code, message, address, id, hint string
	exit                             int
	diags                            []plan.Diagnostic
}

func (p *problem) Error() string { return p.message }

// exitCode maps every error to an exit code; it is the only place that does.
func exitCode(err error) int {
	var s status
	var p *problem
	var claimed *state.ClaimedError
	var locked *state.LockedError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &s):
		return int(s)
	case errors.As(err, &p) && p.exit != 0:
		return p.exit
	case errors.As(err, &claimed), errors.As(err, &locked):
		return exitLocked
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return int(apply.ClassOf(err))
}

// fail tells an error and gives its exit code.
func (a *app) fail(err error) int {
	code := exitCode(err)
	var s status
	if err == nil || errors.As(err, &s) {
		return code
	}
	if errors.Is(err, syscall.EPIPE) && !a.json {
		return code // whoever read the answer has had enough of it
	}
	told := describe(err)
	if a.json {
		_ = told.WriteJSON(a.err)
	} else {
		_ = told.Write(a.err, a.errLook())
	}
	return code
}

// describe gives an error its code, its words and what to do about it.
func describe(err error) ui.Problem {
	out := ui.Problem{Code: apply.CodeOf(err), Message: err.Error()}
	var (
		own     *problem
		usage   *usageError
		wrong   *diagnosed
		engine  *apply.Error
		asked   *providers.Error
		claimed *state.ClaimedError
		locked  *state.LockedError
		write   *state.WriteError
		backend *state.BackendError
	)
	switch {
	case errors.As(err, &own):
		out = ui.Problem{Code: own.code, Message: own.message, Address: own.address, ID: own.id, Hint: own.hint, Diagnostics: own.diags}
	case errors.As(err, &usage):
		out.Code, out.Hint = "usage", usage.hint
	case errors.As(err, &wrong):
		out.Code = "configuration"
		out.Message = wrong.diags[0].Summary
		out.Diagnostics = ui.Diagnostics(wrong.diags, wrong.sources)
	case errors.As(err, &engine):
		out = ui.Problem{Code: engine.Code, Message: engine.Message, Address: engine.Address, ID: engine.ID, Hint: engine.Hint}
		out.Message = about(out.Address, out.Message)
	case errors.As(err, &claimed):
		out.Code, out.Message, out.Address, out.ID = "held", claimed.Holder(), claimed.Address, claimed.Claim.ID
		out.Hint = "-lock-timeout=DURATION waits for it; " + claimed.UnlockCommand() + " ends a claim whose holder is gone"
	case errors.As(err, &locked):
		out.Code, out.ID = "held", locked.ID
	case errors.As(err, &write):
		out.Code = "state_write"
	case errors.As(err, &backend):
		out.Code, out.Hint = "state_"+string(backend.Trouble), backend.Hint
	case errors.As(err, &asked):
		out.Code = "provider_" + string(asked.Kind)
	case errors.Is(err, context.Canceled):
		out.Code, out.Message = "interrupted", "interrupted"
	case errors.Is(err, os.ErrPermission):
		out.Code = "permission"
	}
	return out
}

// about puts an address before a message that does not begin with it.
func about(address, message string) string {
	if address == "" || strings.HasPrefix(message, address) {
		return message
	}
	return address + ": " + message
}
