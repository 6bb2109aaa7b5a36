#!/bin/sh
# Counts in a file on the volume how often a run came by.
set -eu

dir=${OVERBRAINER_VOLUME_DIR:?is where the volume is, and there is none}
mkdir -p "$dir/example" output
visits=$(cat "$dir/example/visits" 2>/dev/null || echo 0)
visits=$((visits + 1))
echo "$visits" >"$dir/example/visits"

echo "$1 is visit $visits to $dir"
echo "$visits" >output/visits
printf '{"event":"log","step":1,"visits":%s}\n' "$visits" >>"$OVERBRAINER_METRICS"
