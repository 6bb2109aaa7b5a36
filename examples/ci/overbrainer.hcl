# A project that is planned on every pull request and applied on merge, by the
# very plan that was reviewed. See .github/workflows/overbrainer.yml and
# .gitlab-ci.yml; policy/cost.rego gates on the plan's JSON with conftest.

provider "runpod" {
  simulator = true
}

target "gpu" {
  gpu_types          = "auto"
  min_vram_gb        = 16
  max_price_per_hour = 1.00
  image              = "runpod/pytorch:1.0.2-cu1281-torch280-ubuntu2404"
}

cap "ci" {
  max_hours    = 1
  max_cost_usd = 3
}

run "smoke" {
  target  = target.gpu
  cap     = cap.ci
  command = "mkdir -p output && date -u > output/done && echo done"
  outputs = ["output/**"]
}

check "budget" {
  assert {
    condition     = plan.max_cost_usd <= 5
    error_message = "This plan may spend ${plan.max_cost_usd} USD; ask before raising the limit."
  }
}
