#!/usr/bin/env bash
# Applies the series of $BASE to upstream's tree, one patch after the other, as git am does. After each, the tree has to be formatted,
# to compile, and to pass go vet; the tests of the packages that the patch changes have to pass, upstream's and the series', after the last
# patch all tests; the exported API has to stay compatible; and upstream's linters must find nothing new, but for what only a later commit
# uses. In the end the tree has to be the fork, except for what the series leaves out. "make verify-series" calls it; FROM=0008 goes
# on at this patch.
set -Eeuo pipefail
cd "$(dirname "$0")/../.."
source etc/series/common.sh
tree=build/series/$BASE.tree last=$PWD/build/series/$BASE.last
rm -rf "$last"
go run ./tools/cmd/mongofork series --tree "$last" >/dev/null
patches=("$root/build/series/$BASE"/[0-9]*.patch)
patches=("${patches[@]:1}") # without the cover letter
trap 'echo "${patch:+${patch##*/}: }this failed: $BASH_COMMAND (the tree is in $tree)" >&2' ERR

check() { # PACKAGE TO TEST...
	go build ./...
	go vet "${vetted[@]}" ./...
	tested "$@"
	go run "$APIDIFF" -m -w .git/api "$UPSTREAM" 2>/dev/null
	broken=$(go run "$APIDIFF" -m -incompatible .git/api-upstream .git/api 2>/dev/null | grep '^- ' || true)
	[ -z "$broken" ] || { echo "the exported API breaks: $broken"; false; }
}

committed "$tree"
go run "$APIDIFF" -m -w .git/api-upstream "$UPSTREAM" 2>/dev/null
for patch in "${patches[@]}"; do
	git am --quiet "$patch"
	[[ ${patch##*/} < ${FROM:-0} ]] && continue
	files=() packages=() # bash 3, which a Mac has, knows no mapfile
	while read -r file; do files+=("$file"); done < <(git diff --name-only --diff-filter=d HEAD~ -- '*.go')
	formatted "${files[@]}"
	while read -r folder; do packages+=("$folder"); done < <(printf './%s\n' "${files[@]%/*}" | sort -u)
	unused=(--disable=unused,unparam)
	if [ "$patch" = "${patches[${#patches[@]} - 1]}" ]; then
		packages=(./...) unused=()
	fi
	lint ${unused[@]+"${unused[@]}"} "${packages[@]}" >.git/lint 2>&1 & # tests wait most of their time
	linting=$!
	check "${packages[@]}"
	wait "$linting" || { cat .git/lint; false; }
	echo "${patch##*/}: $(tail -1 .git/tests)"
done
diff -r --exclude=.git . "$last"
echo "$BASE: the series applies, each commit passes by itself, and the last is the fork except for what etc/series/series.yaml leaves out"
