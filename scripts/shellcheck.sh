#!/bin/sh
# Every shell script of the tree through shellcheck.
set -eu
cd "$(dirname "$0")/.."
git ls-files -co --exclude-standard '*.sh' .ci/run | sort -u | xargs shellcheck -x
