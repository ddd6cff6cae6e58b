#!/bin/sh
# usage: test.sh MODULE...
# Runs "go test ./..." in every module, also after a failure, and lists the slowest tests and the failures last.
# With UNWATCH_ALL_TESTS it runs the tests named TestLong... only.
# Many tests wait for servers and for leases, so more run at a time than there are cores, and
# modules run at the same time, except the first one, or with UNWATCH_ALL_TESTS the second one:
# integration, whose load takes all cores. xargs passes an interrupt on to them. make lint runs the analyzers of go vet.
set -u
cores=$(getconf _NPROCESSORS_ONLN)
flags="-timeout 30m -vet=off -p $((2 * cores)) -parallel $((4 * cores))"

long_packages() ( # of a module: relative to it
	cd "$1" && dirs=$(go list -f '{{.Dir}}' ./...) || exit 1
	for dir in $dirs; do
		! grep -qs 'long\.Only(' "$dir"/*_test.go || echo ".${dir#"$PWD"}"
	done
)

test_module() {
	module=$1
	packages=./... only=
	if [ -n "${UNWATCH_ALL_TESTS:-}" ]; then
		packages=$(long_packages "$1") || { echo "FAIL	module $1"; return; }
		[ -n "$packages" ] || return 0
		only="-run ^TestLong"
		[ "$1" != "${alone:-}" ] || only="$only -parallel $((8 * cores))" # nearly all of its tests wait
	fi
	# shellcheck disable=SC2086 # flags and packages are words
	set -- "$1" test $flags $only $packages
	echo "go -C $*"
	shift 2
	"$testlist" "$testlist.durations" go -C "$module" test -json "$@" 2>&1 || echo "FAIL	module $module"
}

if [ "$1" = -into ]; then # a folder for the output, and a module
	test_module "$3" >"$2/$(echo "$3" | tr / -).out" 2>&1
	exit
fi

together() { # MODULE...
	[ $# -gt 0 ] || return 0
	echo "testing at the same time: $*"
	printf '%s\n' "$@" | xargs -P $# -n 1 "$0" -into "$dir"
	for module in "$@"; do cat "$dir/$(echo "$module" | tr / -).out"; done
}

dir=$(mktemp -d) || exit 1
testlist=$dir/.testlist
export testlist
go -C "$(dirname "$0")/../tools" build -o "$testlist" ./testlist || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
{
	if [ -n "${UNWATCH_ALL_TESTS:-}" ] && [ $# -gt 1 ]; then
		first=$1 alone=$2
		shift 2
		together "$first" "$@"
		test_module "$alone"
	else
		test_module "$1"
		shift
		together "$@"
	fi
} | tee "$dir/.all"

echo
echo "Slowest tests, in seconds:"
[ ! -f "$testlist.durations" ] || sort -rn "$testlist.durations" | head -20

grep -q '^FAIL	' "$dir/.all" || exit 0
echo
echo "Failures:"
grep -E '^(--- FAIL|FAIL	|panic: )' "$dir/.all"
exit 1
