#!/usr/bin/env bash
# Runs every fuzz target of the root module for FUZZTIME (30s), one after the other, or those
# whose name or package matches the arguments. What fails leaves its input in testdata/fuzz
# of its package: commit it with the fix, and plain `go test` runs it from then on.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

failed=()
while IFS=: read -r file name; do
	package="./$(dirname "$file")"
	if [ $# -gt 0 ] && ! grep -qE "$(IFS='|'; echo "$*")" <<<"$package $name"; then
		continue
	fi
	echo "=== $package $name"
	# By default, one input is minimised for up to a minute, while nothing new is tried.
	go test -run '^$' -fuzz "^$name\$" -fuzztime "${FUZZTIME:-30s}" -fuzzminimizetime 10x "$package" || failed+=("$package $name")
done < <(git grep -n --no-column -oE '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' ':!*/testdata/*' | sed -E 's/:[0-9]+:func /:/')

if [ ${#failed[@]} -gt 0 ]; then
	printf 'failed: %s\n' "${failed[@]}"
	exit 1
fi
