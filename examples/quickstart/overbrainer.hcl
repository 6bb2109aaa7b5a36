# A real training job on a rented GPU, except that nothing is rented: with
# simulator = true the pods are processes on this machine, with the same API,
# prices, watchdog and SSH as real ones, and no account is needed. Take the line
# out, and the same file runs on Runpod.

provider "runpod" {
  simulator = true
}

variable "epochs" {
  type        = number
  default     = 200
  description = "Passes over the data."
}

variable "pause" {
  type        = number
  default     = 0.02
  description = "Seconds to sleep after each pass, to watch the job at leisure."
}

# What a pod is: the cheapest GPU in stock with enough memory.
target "gpu" {
  gpu_types          = "auto"
  min_vram_gb        = 16
  max_price_per_hour = 1.00
  image              = "runpod/pytorch:1.0.2-cu1281-torch280-ubuntu2404"
  container_disk_gb  = 20
}

# What may be spent. The pod itself keeps to this, whatever happens here.
cap "small" {
  max_hours    = 1
  max_cost_usd = 2
}

run "iris" {
  target = target.gpu
  cap    = cap.small

  upload = ["train.py", "data/iris.csv"]
  setup  = <<-EOT
    command -v python3 >/dev/null || {
      echo "python3 is not on this machine: install it, or use an image that has it" >&2
      exit 127
    }
  EOT

  command = ["python3", "train.py"]
  env = {
    EPOCHS = var.epochs
    PAUSE  = var.pause
  }
  outputs = ["output/**"]

  snapshot {
    path = "output/checkpoint-{step}"
  }
}

output "accuracy" {
  description = "On the flowers that it has not seen."
  value       = run.iris.metrics.accuracy
}

output "model" {
  value = "${run.iris.output_dir}/model.json"
}
