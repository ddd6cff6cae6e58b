#!/usr/bin/env bash
# For whoever changes a step: the patches as a git repository, and back.
#
#	steps.sh unpack DIR        # makes DIR a repository with one commit for each step
#	steps.sh pack DIR [OUT]    # writes the patches, here or to OUT, from what DIR has now
#
# In between, git rebase -i is the tool.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null # nobody's own settings

verb=${1:?unpack or pack} dir=${2:?a folder}
in_dir() { git -C "$dir" -c user.name=migration -c user.email=migration@localhost -c core.autocrlf=false "$@"; }

case $verb in
unpack)
	mkdir "$dir"
	cp -R "$here/../../examples/legacy-service/." "$dir"
	in_dir init -q -b steps
	in_dir add -A
	in_dir commit -q -m "the service before the first step"
	for patch in "$here"/[0-9]*.patch; do
		in_dir apply --index "$patch"
		sed '/^---$/,$d' "$patch" | in_dir commit -q -F -
	done
	;;
pack)
	out=${3:-$here}
	rm -f "$out"/[0-9]*.patch
	for commit in $(in_dir rev-list --reverse steps | tail -n +2); do
		name=$(in_dir log -1 --format=%s "$commit")
		{
			in_dir log -1 --format=%B "$commit"
			echo "---"
			in_dir diff --no-renames --no-color "$commit^" "$commit" | sed '/^index /d'
		} >"$out/${name%%:*}.patch"
	done
	;;
*)
	echo "steps.sh unpack DIR, or steps.sh pack DIR [OUT]" >&2
	exit 2
	;;
esac
