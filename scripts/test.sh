#!/bin/sh
# Runs "go test ./..." in every module named, also after a failure, and lists the failures last.
set -u
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
trap 'exit 130' INT TERM

for module in "$@"; do
	echo "go -C $module test -timeout 30m ./..."
	go -C "$module" test -timeout 30m ./... 2>&1 || echo "FAIL	module $module"
done | tee "$log"

grep -q '^FAIL	' "$log" || exit 0
echo
echo "Failures:"
grep -E '^(--- FAIL|FAIL	|panic: )' "$log"
exit 1
