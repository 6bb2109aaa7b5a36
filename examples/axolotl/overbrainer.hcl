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
  upload  = ["axolotl.yaml", "data/train.jsonl"]
  command = ["axolotl", "train", "axolotl.yaml", "--base-model", var.base_model]
  env     = { AXOLOTL_DO_NOT_TRACK = "1" }
  secrets = { HF_TOKEN = secret.hf }
  outputs = ["output/**", "!output/checkpoint-*/**"]
}

output "adapter" {
  value = run.sft.output_dir
}
