package config

import (
	"strings"
	"testing"
)

// Values of variables are not needed to say what is wrong with the text: a
// required one without a value is no fault, wherever it stands, and hides no
// fault beside it.
func TestValuesAreNotNeededToValidate(t *testing.T) {
	const text = `
variable "image" { type = string }
variable "types" { type = list(string) }
variable "sizes" {
  type = map(number)
  validation {
    condition     = length(var.sizes) > 0
    error_message = "none"
  }
}
variable "n" {}
locals { half = var.n / 2 }
target "late" {
  gpu_types = var.types
  image     = "registry.example/${var.image}"
}
target "many" {
  count     = var.n
  gpu_types = ["NVIDIA A40"]
  image     = "a/b"
}
cap "late" {
  max_hours = var.n
}
run "each" {
  for_each = var.sizes
  target   = target.late
  cap      = cap.late
  command  = ["python", "train.py", each.value, local.half]
  outputs  = ["output/**"]
}
check "budget" {
  assert {
    condition     = plan.max_cost_usd <= var.n
    error_message = "more than ${var.n}"
  }
}
output "all" { value = [for k, r in run.each : r.cost_usd * var.n] }
`
	for _, missing := range []bool{true, false} {
		_, diags := project(t, hclFile(text), Options{Vars: Vars{MayMiss: missing}})
		if diags.HasErrors() == missing {
			t.Errorf("values may be missing: %v, and there is: %v", missing, diags)
		}
	}
	cfg, diags := project(t, hclFile(text, `
run "wrong" {
  target  = target.gpu
  cap     = cap.small
  command = ["python", var.image, var.imag]
  outptus = ["output/**"]
}
run "beside" {
  target  = target.late
  cap     = cap.small
  command = "true"
  metrics = ["no", "text"]
  outputs = ["output/**"]
}
`), Options{Vars: Vars{MayMiss: true}})
	told := string(show(diags, cfg.Dir))
	for _, want := range []string{"`var.image`", "`outputs`", "`metrics` must be a string"} {
		if !strings.Contains(told, want) {
			t.Errorf("%s is not told: %s", want, told)
		}
	}
}
