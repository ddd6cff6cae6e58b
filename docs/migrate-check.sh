#!/usr/bin/env bash
# Does what migrate-check.md says, in the module of the working directory, with migrate-check
# on the PATH. A test of cmd/migrate-check plays it, over a module with two findings.
set -uo pipefail

exits() { # exits CODE: what the command before has to end with
	local code=$?
	[ "$code" = "$1" ] && return
	echo "line ${BASH_LINENO[0]}: exit code $code, want $1"
	exit 1
}

# Use it in CI
migrate-check ./... -baseline migrate-check.json -write-baseline
exits 0
migrate-check ./... -baseline migrate-check.json
exits 0

# As a vet tool
go vet -vettool=$(which migrate-check) ./...
exits 1

echo "all as the guide says"
