#!/usr/bin/env bash
# Removes each layer of performance, fixes, backports and extras by removing its folder, and builds, vets and tests what remains on $BASE,
# the packages that the layer is about. "make layers" calls it; LAYERS names some of them, and all removes all at once.
set -Eeuo pipefail
cd "$(dirname "$0")/../.."
source etc/series/common.sh
builder=$PWD/build/mongofork
go build -o "$builder" ./tools/cmd/mongofork
for layer in ${LAYERS:-performance/* fixes/* backports/* extras/* all}; do
	copy=build/without/$layer
	trap 'echo "$BASE without $layer: this failed: $BASH_COMMAND (the copy is in $copy)" >&2' ERR
	rm -rf "$copy"
	mkdir -p "$copy"
	git ls-files -z --cached --others --exclude-standard | tar --null --ignore-failed-read -T - -c 2>/dev/null | tar -x -C "$copy"
	removed=$layer
	[ "$layer" != all ] || removed="performance fixes backports extras"
	packages=() # bash 3, which a Mac has, knows no mapfile
	while read -r folder; do packages+=("./$folder"); done < <(cd "$copy" && for one in $removed; do
		find "$one" -name '*.go' -exec dirname {} \; | sed -E 's,^(performance|fixes|backports|extras)/[^/]+/,,'
		sed -nE 's/^(- )? *in: ([^ ]+) .*/\2/p' $(find "$one" -name edits.yaml)
	done | sort -u)
	(cd "$copy" && rm -r $removed && "$builder" accept >/dev/null && "$builder" build >/dev/null)
	tree=$copy/build/$BASE
	cd "$root/$tree"
	existing=()
	for package in "${packages[@]}"; do
		[ -z "$(ls "$package"/*.go 2>/dev/null)" ] || existing+=("$package")
	done
	go build ./...
	mkdir -p .git # for what tested writes
	[ ${#existing[@]} = 0 ] || { go vet "${vetted[@]}" "${existing[@]}"; tested "${existing[@]}"; }
	cd "$root"
	rm -rf "$copy"
	echo "$BASE without $layer: builds, and the tests of ${existing[*]:-nothing} pass"
done
