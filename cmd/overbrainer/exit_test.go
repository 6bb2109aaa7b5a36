package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/overbrainer/overbrainer/apply"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

func TestEveryErrorHasItsExitCode(t *testing.T) {
	for _, test := range []struct {
		err  error
		exit int
		code string
	}{
		{nil, 0, ""},
		{errors.New("something"), 1, "error"},
		{status(3), 3, ""},
		{&usageError{text: "what"}, 1, "usage"},
		{&problem{code: "check", message: "no"}, 1, "check"},
		{&problem{code: "held", message: "no", exit: exitLocked}, 11, "held"},
		{&apply.Error{Code: "no_capacity", Class: apply.NothingRentable}, 12, "no_capacity"},
		{fmt.Errorf("while: %w", &apply.Error{Code: "job_failed", Class: apply.JobFailed}), 10, "job_failed"},
		{&state.ClaimedError{}, 11, "held"},
		{&state.LockedError{}, 11, "held"},
		{&state.WriteError{Err: errors.New("full")}, 1, "state_write"},
		{&providers.Error{Kind: providers.NoCredits, Message: "no"}, 1, "provider_no_credits"},
		{context.Canceled, 130, "interrupted"},
	} {
		if got := exitCode(test.err); got != test.exit {
			t.Errorf("%v: exit %d, want %d", test.err, got, test.exit)
		}
		if test.code == "" {
			continue
		}
		if got := describe(test.err); got.Code != test.code {
			t.Errorf("%v: code %q, want %q", test.err, got.Code, test.code)
		}
	}
}

func TestTheWorstDecides(t *testing.T) {
	exit := func(o apply.Outcome) int { return exitCode(verdict(o)) }
	code := 3
	if got := exit(apply.Outcome{Class: apply.OK}); got != 0 {
		t.Errorf("exit %d", got)
	}
	failed := apply.Outcome{Class: apply.JobFailed, Runs: []apply.RunOutcome{
		{Address: "run.good", State: "succeeded"},
		{Address: "run.bad", RunID: "bad-1", State: "failed", Reason: "exit_code", ExitCode: &code, Class: apply.JobFailed, Message: "exit code 3"},
	}}
	if got := exit(failed); got != exitJobFailed {
		t.Errorf("exit %d", got)
	}
	if p := describe(verdict(failed)); p.Address != "run.bad" || p.ID != "bad-1" || p.Message != "run.bad: exit code 3" {
		t.Errorf("%+v", p)
	}
	failed.Runs = append(failed.Runs, failed.Runs[1], failed.Runs[1])
	if p := describe(verdict(failed)); p.Message != "run.bad: exit code 3 (the first of 3 errors)" {
		t.Errorf("%q", p.Message)
	}
	left := apply.Outcome{Class: apply.Failure, Left: []apply.Left{{Kind: "pod", ID: "p1", Fix: "overbrainer destroy"}}}
	if p := describe(verdict(left)); p.Code != "left_over" || p.ID != "p1" || p.Hint != "overbrainer destroy" {
		t.Errorf("%+v", p)
	}
}
