#!/usr/bin/env bash
# Applies the series of $BASE to upstream's tree, one patch after the other, as git am does. After each, the tree has to be formatted,
# to compile, and to pass go vet; the tests of the packages that the patch changes have to pass, upstream's and the series', after the last
# patch all tests; the exported API has to stay compatible; and upstream's linters must find nothing new. In the end the tree has to be
# the fork, except for what the series leaves out. "make verify-series" calls it.
set -Eeuo pipefail
cd "$(dirname "$0")/../.."
root=$PWD tree=build/series/$BASE.tree goal=$PWD/build/series/$BASE.goal
rm -rf build/series/"$BASE" "$tree" "$goal"
go run ./tools/cmd/mongofork series --goal "$goal" >/dev/null
cp -r "build/pristine/$BASE" "$tree"
patches=("$root/build/series/$BASE"/[0-9]*.patch)
patches=("${patches[@]:1}") # without the cover letter
# With -trimpath all trees share what is compiled of the same files.
export GOFLAGS='-mod=readonly -trimpath' GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_COMMITTER_NAME=mongofork GIT_COMMITTER_EMAIL=mongofork@localhost
trap 'echo "${patch:+${patch##*/}: }this failed: $BASH_COMMAND (the tree is in $tree)" >&2' ERR

check() { # PACKAGE TO TEST...
	go build ./...
	go vet -composites=false -lostcancel=false ./... # upstream's own tests do not pass these two checks
	(cd "$root" && go run ./tools/cmd/rig packages "$tree" "$@") >.git/tests 2>&1 || { cat .git/tests; false; }
	go run "$APIDIFF" -m -w .git/api "$UPSTREAM" 2>/dev/null
	broken=$(go run "$APIDIFF" -m -incompatible .git/api-upstream .git/api 2>/dev/null | grep '^- ' || true)
	[ -z "$broken" ] || { echo "the exported API breaks: $broken"; false; }
}

cd "$tree"
git init --quiet
git add --all --force
git commit --quiet --author="$GIT_COMMITTER_NAME <$GIT_COMMITTER_EMAIL>" --message=upstream
git tag upstream
go run "$APIDIFF" -m -w .git/api-upstream "$UPSTREAM" 2>/dev/null
for patch in "${patches[@]}"; do
	git am --quiet "$patch"
	files=() packages=() # bash 3, which a Mac has, knows no mapfile
	while read -r file; do files+=("$file"); done < <(git diff --name-only --diff-filter=d HEAD~ -- '*.go')
	unformatted=$(gofmt -l "${files[@]}")
	[ -z "$unformatted" ] || { echo "not formatted: $unformatted"; false; }
	while read -r folder; do packages+=("$folder"); done < <(printf './%s\n' "${files[@]%/*}" | sort -u)
	if [ "$patch" = "${patches[${#patches[@]} - 1]}" ]; then check ./...; else check "${packages[@]}"; fi
	go run "$GOLANGCI_LINT" run --new-from-rev=upstream --show-stats=false --allow-parallel-runners --max-issues-per-linter=0 \
		--max-same-issues=0 "${packages[@]}"
	echo "${patch##*/}: $(tail -1 .git/tests)"
done
diff -r --exclude=.git . "$goal"
echo "$BASE: the series applies, each commit passes by itself, and the last is the fork except for what etc/series/series.yaml leaves out"
