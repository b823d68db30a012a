#!/usr/bin/env bash
# Applies each fix of $BASE alone to upstream's tree. Its tests have to fail before and to pass after, as have all of the packages that it
# changes; the tree has to compile, and to pass go vet and upstream's checks. In the end all fixes are applied together. "make verify-fixes"
# calls it; FIXES names some of them.
set -Eeuo pipefail
cd "$(dirname "$0")/../.."
source etc/series/common.sh
tree=build/series/$BASE.fix
go run ./tools/cmd/mongofork series --fixes
trap 'echo "${patch:+${patch##*/}: }this failed: $BASH_COMMAND (the tree is in $tree)" >&2' ERR
for name in ${FIXES-}; do
	[ -e "$root/build/series/$BASE/fixes/$name.patch" ] ||
		{ echo "FIXES: $BASE has no fix $name, only" "$(cd "$root/build/series/$BASE/fixes" && echo ./*.patch)"; exit 1; }
done
committed "$tree"
for patch in "$root/build/series/$BASE/fixes"/*.patch; do
	name=$(basename "$patch" .patch)
	[[ " ${FIXES:-$name} " == *" $name "* ]] || continue
	git reset --quiet --hard upstream
	files=() packages=()
	while read -r file; do files+=("$file"); done < <(git apply --numstat "$patch" | cut -f3)
	while read -r folder; do packages+=("$folder"); done < <(printf './%s\n' "${files[@]%/*}" | sort -u)
	tests=$(grep -o '^+func Test[A-Za-z0-9]*' "$patch" | cut -c 7- | paste -sd'|')
	git apply --include='*_test.go' "$patch"
	! go test -run "^($tests)\$" "${packages[@]}" >.git/tests 2>&1 && grep -q '^--- FAIL: ' .git/tests ||
		{ echo "$name: its tests do not fail without it"; cat .git/tests; exit 1; }
	git stash --quiet --include-untracked && git stash drop --quiet
	git am --quiet "$patch"
	formatted "${files[@]}"
	go build ./...
	go vet "${vetted[@]}" "${packages[@]}"
	tested "${packages[@]}"
	lint "${packages[@]}"
	echo "$name: tests fail before and pass after"
done
git reset --quiet --hard upstream
git am --quiet --3way "$root/build/series/$BASE/fixes"/*.patch
go build ./...
echo "$BASE: ${FIXES:-each fix} applies alone, and all of them together"
