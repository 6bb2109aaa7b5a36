#!/bin/sh
# Generates ../providerpb from the protocol. make generate calls it; a check
# that the generated code is current is: run it, then git diff --exit-code.
set -eu
cd "$(dirname "$0")"
buf() { go tool -modfile=../../../tools/buf/go.mod buf "$@"; }
buf lint
buf format --diff --exit-code
buf generate
