package plan

import (
	"strings"
	"testing"

	"github.com/overbrainer/overbrainer/state"
)

func TestChecks(t *testing.T) {
	p := newProject(t, base+`
check "known_later" {
  assert {
    condition     = run.train.cost_usd <= 5
    error_message = "too dear"
  }
}
check "null" {
  assert {
    condition     = null
    error_message = "never decided"
  }
}
check "offers" {
  assert {
    condition     = alltrue([for r in plan.runs : r.price_per_hour < 0.5 && r.gpu_type != null && r.data_center == "EU-RO-1"])
    error_message = "offers"
  }
}
check "counts" {
  assert {
    condition     = plan.adds == 1 && plan.changes == 0 && plan.destroys == 0 && plan.hourly_usd < 1 && plan.monthly_storage_usd == 0
    error_message = "counts"
  }
}
check "budget" {
  assert {
    condition     = plan.max_cost_usd <= 0.10
    error_message = "may spend ${plan.max_cost_usd} USD"
  }
}
`)
	plan := p.plan()
	want := map[string]string{"known_later": "undecided", "null": "error", "offers": "pass", "counts": "pass", "budget": "fail"}
	for _, c := range plan.Checks {
		if c.Status != want[c.Name] || c.Where == "" {
			t.Errorf("%s: %s %q at %q, want %s", c.Name, c.Status, c.Message, c.Where, want[c.Name])
		}
		if c.Name == "budget" && !strings.Contains(c.Message, "may spend 1.") {
			t.Errorf("message %q", c.Message)
		}
	}
	if len(plan.Checks) != len(want) || plan.Applyable || !plan.Failed() {
		t.Errorf("%d checks, applyable %v", len(plan.Checks), plan.Applyable)
	}
}

// What a kept pod may cost is not known, and neither try nor a filter makes a
// pass of that; a run that has nothing to do costs nothing.
func TestNoCheckPassesOnAnUnknownCost(t *testing.T) {
	p := newProject(t, strings.Replace(base, `outputs = ["output/**"]`, `outputs = ["output/**"]
  keep_pod = "forever"`, 1)+`
check "filter" {
  assert {
    condition     = length([for r in plan.runs : r if try(r.max_cost_usd > 5, false)]) == 0
    error_message = "too dear"
  }
}
check "all" {
  assert {
    condition     = alltrue([for r in plan.runs : !can(r.max_cost_usd > 5) || r.max_cost_usd < 5])
    error_message = "too dear"
  }
}
check "expected" {
  assert {
    condition     = length([for r in plan.runs : r if r.expected_cost_usd > 5]) == 0
    error_message = "too dear"
  }
}
check "later" {
  assert {
    condition     = length([for r in plan.runs : r if r.max_cost_usd > 5]) == 0 && run.train.cost_usd < 5
    error_message = "too dear"
  }
}
check "known" {
  assert {
    condition     = alltrue([for r in plan.runs : r.price_per_hour < 5 && r.max_hours < 5])
    error_message = "too dear"
  }
}
`)
	checks := map[string]string{}
	for _, c := range p.plan().Checks {
		checks[c.Name] = c.Status
	}
	if checks["filter"] != "fail" || checks["all"] != "fail" || checks["expected"] != "fail" || checks["later"] != "fail" || checks["known"] != "pass" {
		t.Error(checks)
	}
	p = newProject(t, base+`
check "nothing" {
  assert {
    condition     = alltrue([for r in plan.runs : r.action == "noop" && r.max_cost_usd == 0 && r.price_per_hour == 0])
    error_message = "something"
  }
}
`)
	p.did("run.train", nil)
	if c := p.plan().Checks; len(c) != 1 || c[0].Status != "pass" {
		t.Errorf("checks %+v", c)
	}
}

// A check on a run that has ended is decided by the plan.
func TestCheckOnAResult(t *testing.T) {
	p := newProject(t, base+`
check "known" {
  assert {
    condition     = run.train.cost_usd <= 0.1
    error_message = "too dear"
  }
}
`)
	p.did("run.train", func(r *state.Run) { r.CostUSD = 0.44 })
	if c := p.plan().Checks; len(c) != 1 || c[0].Status != "fail" {
		t.Errorf("checks %+v", c)
	}
}
