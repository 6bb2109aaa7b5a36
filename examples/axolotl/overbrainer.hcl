# Fine-tunes a language model with Axolotl on a rented GPU. It needs a Runpod
# account (RUNPOD_API_KEY) and costs money: overbrainer plan says how much at
# most. Set OVERBRAINER_SIMULATOR=1 to plan it without an account.

provider "runpod" {}

variable "base_model" {
  type    = string
  default = "Qwen/Qwen3-0.6B"
}

# For gated models: HF_TOKEN here becomes HF_TOKEN there. It is sent over SSH
# when the job starts, and stored nowhere.
secret "hf" { env = "HF_TOKEN" }

target "gpu" {
  gpu_types          = "auto"
  min_vram_gb        = 24
  max_price_per_hour = 1.50
  image              = "axolotlai/axolotl-cloud:main-latest"
  container_disk_gb  = 100
}

cap "evening" {
  max_hours      = 4
  max_cost_usd   = 6
  expected_hours = 1
}

run "sft" {
  target  = target.gpu
  cap     = cap.evening
  upload  = ["axolotl.yaml", "data/train.jsonl", "overbrainer_axolotl.py", "overbrainer_job.py"]
  secrets = { HF_TOKEN = secret.hf }
  outputs = ["output/**", "!output/checkpoint-*/**"]

  # A string goes to sh: where there is a snapshot, training goes on from it.
  command = <<-EOT
    set -- --base-model "$BASE_MODEL"
    if [ -n "$OVERBRAINER_RESUME_DIR" ]; then
      set -- "$@" --resume-from-checkpoint "$OVERBRAINER_RESUME_DIR"
    fi
    exec axolotl train axolotl.yaml "$@"
  EOT
  env = {
    BASE_MODEL           = var.base_model
    PYTHONPATH           = "." # where the plugin of axolotl.yaml is
    AXOLOTL_DO_NOT_TRACK = "1"
  }

  # run stop, or the end of time or money, saves a checkpoint first; the next
  # apply goes on from it.
  snapshot {
    path  = "output/checkpoint-{step}"
    grace = "10m"
  }
}

output "adapter" {
  value = run.sft.output_dir
}
