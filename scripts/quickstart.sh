#!/bin/sh
# Applies a scratch copy of examples/quickstart on the local simulator and
# shows what came of it. Usage: quickstart.sh BINARY
set -eu

binary=$1
here=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/overbrainer-quickstart.XXXXXX")
cp -R "$here/examples/quickstart/." "$scratch"
cd "$scratch"

# Nothing is left running when this ends, however it ends.
finish() {
	status=$?
	"$binary" sim stop >/dev/null 2>&1 || true
	exit "$status"
}
trap finish EXIT

echo "== plan"
"$binary" plan
echo
echo "== apply"
"$binary" apply -auto-approve
echo
echo "== what came of it"
"$binary" output
"$binary" run list
echo "pods left: $("$binary" pod ls -json)"
echo "results:   $scratch/runs"
