#!/bin/sh
# usage: servers.sh PACKAGE...
# Installs the Debian packages whose programs are missing: servers that tests start, or the
# browser that looks at the pages. It asks for no password, and never fails: without them
# those tests skip, or fail where UNWATCH_REQUIRE_SERVERS=1.
set -u

# Debian keeps nutcracker in /usr/sbin, which is not in the PATH of every user.
PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
export PATH

missing=""
for package in "$@"; do
	programs=$package
	case $package in
	etcd-server) programs=etcd ;;
	zookeeper) programs=/usr/share/zookeeper/bin/zkServer.sh ;;
	postgresql) programs=$(ls -d /usr/lib/postgresql/*/bin/postgres 2>/dev/null || echo postgres) ;;
	mariadb-server) programs=mariadbd ;;
	chromium) programs="chromium chromium-browser google-chrome google-chrome-stable" ;;
	esac
	found=""
	for program in $programs; do
		command -v "$program" >/dev/null 2>&1 && found=$program
	done
	[ -n "$found" ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

fallback() {
	cat >&2 <<TEXT
!!!
!!! $1
!!! Missing:$missing
!!! The tests that need them will be SKIPPED (with UNWATCH_REQUIRE_SERVERS=1: FAIL).
!!! Debian and Ubuntu: apt-get install$missing
!!! macOS:             brew install redis twemproxy etcd postgresql mariadb prometheus chromium (ZooKeeper: only Debian's layout is known)
!!!
TEXT
	exit 0
}

command -v apt-get >/dev/null 2>&1 || fallback "There is no apt-get to install the test servers with."
if [ "$(id -u)" = 0 ]; then
	sudo=""
elif sudo -n true 2>/dev/null; then
	sudo="sudo"
else
	fallback "Installing the test servers needs root, or sudo without a password."
fi

echo "Installing with apt-get:$missing"
echo "(the tests start their own servers on free ports; the one that the package may start is not used)"
run_apt() {
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 -qq "$@"
}
run_apt update || echo "apt-get update failed; trying with the lists there are" >&2
# One by one: not every distribution has all of them.
failed=""
for program in $missing; do
	run_apt install --yes --no-install-recommends "$program" >/dev/null || failed="$failed $program"
done
missing=$failed
[ -z "$failed" ] || fallback "apt-get install failed."
