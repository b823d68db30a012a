#!/usr/bin/env bash
# Runs the shop with upstream's driver of the version BASE and with the fork in build/BASE, on the replica set of MONGODB_URI, while
# its members shed load. Fails unless the fork did better, or as well where upstream loses no writes. "make demo" starts a replica
# set for it.
set -euo pipefail
cd "$(dirname "$0")"
export GOWORK=off # none above the repository
driver=go.mongodb.org/mongo-driver/v2
replace="$driver=$(cd ../.. && pwd)/build/$BASE"
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT

build() { # NAME [EDIT OF GO.MOD]
	cp go.mod "$temp/$1.mod" && cp go.sum "$temp/$1.sum"
	go mod edit -require="$driver@$BASE" "${@:2}" "$temp/$1.mod"
	go build -mod=mod -modfile="$temp/$1.mod" -o "$temp/$1" .
}
echo "building the shop with $driver $BASE, and with the fork by one more line in its go.mod:" >&2
echo "  replace ${replace/=/ => }" >&2
build upstream
build fork -replace="$replace"
go version -m "$temp/fork" | grep -q '=>' || { echo "the fork was not built in" >&2; exit 1; }

field() { sed -E "s/.*\"$1\":([0-9.]+).*/\1/" <<<"$result"; }
errors=(0 0) lost=(0 0) # upstream, the fork
table="overloaded     driver    operations  errors  of overload  lost writes  commands  seconds"
for scenario in "every member:-rate=60" "one secondary:-rate=1 -one-secondary"; do
	for i in 0 1; do
		arm=$([[ $i == 0 ]] && echo upstream || echo fork)
		echo "${scenario%%:*} sheds load; the shop with $arm:" >&2
		read -ra flags <<<"${scenario#*:}"
		result=$("$temp/$arm" "${flags[@]}")
		table+=$(printf '\n%-14s %-9s %10s  %6s  %11s  %11s  %8s  %7.1f' "${scenario%%:*}" "$arm" "$(field operations)" \
			"$(field errors)" "$(field overloadErrors)" "$(field lostWrites)" "$(field commands)" "$(field seconds)")
		errors[i]=$((errors[i] + $(field errors)))
		lost[i]=$((lost[i] + $(field lostWrites)))
	done
done
echo "$table"
echo "upstream: ${errors[0]} errors, ${lost[0]} lost writes; the fork: ${errors[1]} errors, ${lost[1]} lost writes"

if ((lost[1] > 0)); then
	echo "The fork lost writes."
	exit 1
fi
# Chance makes a difference of up to three standard deviations.
better=$((errors[0] + lost[0] - errors[1])) all=$((errors[0] + lost[0] + errors[1]))
if ((better * better > 9 * all)); then
	((better > 0)) || { echo "The fork did worse."; exit 1; }
	echo "The fork did better."
else
	((lost[0] == 0)) || { echo "The fork did not do better."; exit 1; }
	echo "The fork did as well: this version of upstream retries rejected commands itself."
fi
