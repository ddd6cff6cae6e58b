#!/bin/sh
# usage: test.sh MODULE...
# Runs "go test ./..." in every module, also after a failure, and lists the failures last.
# Many tests wait for servers and for leases, so more run at a time than there are cores.
set -u
cores=$(getconf _NPROCESSORS_ONLN)
flags="-timeout 30m -p $((2 * cores)) -parallel $((4 * cores))"
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
trap 'exit 130' INT TERM

for module in "$@"; do
	echo "go -C $module test $flags ./..."
	# shellcheck disable=SC2086 # flags are words
	go -C "$module" test $flags ./... 2>&1 || echo "FAIL	module $module"
done | tee "$log"

echo
echo "Slowest packages, in seconds:"
awk '$1 == "ok" && $3 ~ /s$/ { print $3 + 0, $2 }' "$log" | sort -rn | head -20

grep -q '^FAIL	' "$log" || exit 0
echo
echo "Failures:"
grep -E '^(--- FAIL|FAIL	|panic: )' "$log"
exit 1
