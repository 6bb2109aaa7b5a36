# Four runs with different learning rates, side by side on their own pods, under
# one shared budget. A change of one rate runs that one again and no other.

provider "runpod" {
  simulator = true
}

variable "rates" {
  type        = map(number)
  description = "Learning rates to try, by name."
  default = {
    careful = 0.02
    slow    = 0.1
    medium  = 0.5
    fast    = 2
  }

  validation {
    condition     = alltrue([for r in values(var.rates) : r > 0])
    error_message = "A learning rate is greater than 0."
  }
}

variable "pause" {
  type        = number
  default     = 0.02
  description = "Seconds to sleep after each pass, to watch the jobs at leisure."
}

target "gpu" {
  gpu_types          = "auto"
  min_vram_gb        = 16
  max_price_per_hour = 1.00
  image              = "runpod/pytorch:1.0.2-cu1281-torch280-ubuntu2404"
  container_disk_gb  = 20
}

# max_cost_usd bounds each run, max_total_usd all of them together, over every
# apply: what was spent is counted in.
cap "budget" {
  max_hours     = 1
  max_cost_usd  = 2
  max_total_usd = 10
}

run "iris" {
  for_each = var.rates

  target  = target.gpu
  cap     = cap.budget
  upload  = ["train.py", "data/iris.csv"]
  command = ["python3", "train.py"]
  env = {
    RATE  = each.value
    PAUSE = var.pause
  }
  outputs = ["output/**"]

  snapshot {
    path = "output/checkpoint-{step}"
  }
}

# Nothing is applied when the plan could cost more than this.
check "budget" {
  assert {
    condition     = plan.max_cost_usd <= 10
    error_message = "This plan may spend ${plan.max_cost_usd} USD."
  }
}

output "accuracy" {
  value = { for name, r in run.iris : name => r.metrics.accuracy }
}

output "best" {
  description = "The rate that came to the lowest loss."
  value = [
    for name, r in run.iris : name
    if r.metrics.loss == min([for other in run.iris : other.metrics.loss]...)
  ][0]
}
