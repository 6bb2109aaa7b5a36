# A network volume that outlives its pods: what one run prepares there, the next
# one finds. The volume is never deleted by overbrainer (retain is true by
# default), and a plan says what it keeps costing.

provider "runpod" {
  simulator = true
}

volume "cache" {
  data_center = "EU-RO-1"
  size_gb     = 20
}

target "gpu" {
  gpu_types          = "auto"
  min_vram_gb        = 16
  max_price_per_hour = 1.50
  image              = "runpod/pytorch:1.0.2-cu1281-torch280-ubuntu2404"
  volume             = volume.cache
}

cap "small" {
  max_hours     = 1
  max_cost_usd  = 3
  max_volume_gb = 60 # a full volume may be grown up to here during a run
}

run "prepare" {
  target  = target.gpu
  cap     = cap.small
  upload  = ["count.sh"]
  command = ["sh", "count.sh", "prepare"]
  outputs = ["output/**"]
}

# Uses a result of the other run, and so waits until that has ended.
run "use" {
  target  = target.gpu
  cap     = cap.small
  upload  = ["count.sh"]
  command = ["sh", "count.sh", "use"]
  env     = { AFTER = run.prepare.id }
  outputs = ["output/**"]
}

output "visits" {
  value = run.use.metrics.visits
}
