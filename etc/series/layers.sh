#!/usr/bin/env bash
# Removes each layer that the fork has by removing its folder, and builds, vets and tests what remains on $BASE,
# the packages that the layer is about. After a failure it goes on, and says in the end which failed. "make verify-layers" calls it; LAYERS names
# some of them, and all removes all at once. What builds on a layer, as its README says, goes with it.
set -Eeuo pipefail
cd "$(dirname "$0")/../.."
source etc/series/common.sh
builder=$PWD/build/mongofork
go build -o "$builder" ./tools/cmd/mongofork

every() { echo layers/{performance,fixes,backports,topics,extras}/*; }

# onto prints a layer, and what builds on it, as their READMEs say.
onto() { # LAYER
	echo "$1"
	local above
	for above in $(grep -lF "builds on $1," layers/*/*/README.md || true); do onto "${above%/README.md}"; done
}

without() { # LAYER
	local layer=$1 copy=build/without/$1 removed folder package packages=() existing=() # bash 3, which a Mac has, knows no mapfile
	trap 'echo "$BASE without $layer: this failed: $BASH_COMMAND (the copy is in $copy)" >&2' ERR
	rm -rf "$copy"
	mkdir -p "$copy"
	git ls-files -z --cached --others --exclude-standard | tar --null --ignore-failed-read -T - -c 2>/dev/null | tar -x -C "$copy"
	removed=$(onto "$layer" | sort -u)
	[ "$layer" != all ] || removed=$(for one in $(every); do onto "$one"; done | sort -u)
	while read -r folder; do packages+=("./$folder"); done < <(cd "$copy" && for one in $removed; do
		find "$one" -name '*.go' -exec dirname {} \; | sed -E 's,^layers/[^/]+/[^/]+/,,'
		find "$one" -name edits.yaml -exec sed -nE 's/^(- )? *in: ([^ ]+) .*/\2/p' {} \;
	done | sort -u)
	(cd "$copy" && rm -r $removed && "$builder" build >/dev/null)
	tree=$copy/build/$BASE
	cd "$root/$tree"
	for package in "${packages[@]}"; do
		[ -z "$(ls "$package"/*.go 2>/dev/null)" ] || existing+=("$package")
	done
	go build ./...
	mkdir -p .git # for what tested writes
	[ ${#existing[@]} = 0 ] || { go vet "${vetted[@]}" "${existing[@]}"; tested "${existing[@]}"; }
	cd "$root"
	rm -rf "$copy"
	echo "$BASE without $layer: builds, and the tests of ${existing[*]:-nothing} pass"
}

failed=() tried=0
[ -n "${LAYERS-}" ] || LAYERS="$(every) all"
for layer in $LAYERS; do
	tried=$((tried + 1))
	without "$layer" & # "set -e" ends it at the first failure, as it would not in a condition
	wait $! || failed+=("$layer")
done
[ ${#failed[@]} = 0 ] || { echo "$BASE: $tried tried, ${#failed[@]} failed: ${failed[*]}" >&2; exit 1; }
echo "$BASE: $tried tried, and what remains passes without each"
