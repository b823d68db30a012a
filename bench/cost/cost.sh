#!/usr/bin/env bash
# Measures what operations cost with upstream's driver and with the fork, on the bases given, which are in build/, and prints
# benchstat's tables, in which "~" stands where a difference may be chance; docs/performance/cost.md has them. "make bench WHAT=cost"
# calls it.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOWORK=off # none above the repository
driver=go.mongodb.org/mongo-driver/v2
benchstat=golang.org/x/perf/cmd/benchstat@v0.0.0-20260409210113-8e83ce0f7b1c
root=$(cd .. && pwd)

build() { # NAME FOLDER
	cp go.mod "$out/$1.mod" && cp go.sum "$out/$1.sum"
	go mod edit -replace="$driver=$root/$2" "$out/$1.mod"
	go test -c -mod=mod -modfile="$out/$1.mod" -o "$out/$1" ./cost
}
measure() { # PROGRAM RESULTS [OPTIONS OF THE CONNECTION STRING]
	BENCH_OPTIONS=${3:-} "$out/$1" -test.run='^$' -test.bench=. -test.benchtime="${EACH:-100ms}" >>"$out/$2.txt"
}

for base in "$@"; do
	out=$root/build/bench/cost/$base
	rm -rf "$out" && mkdir -p "$out"
	build upstream "build/pristine/$base"
	build fork "build/$base"
	# They take turns, so that what changes on the machine meets all of them.
	for ((round = 1; round <= ${ROUNDS:-10}; round++)); do
		echo "$base: round $round" >&2
		measure upstream upstream
		measure fork fork
		measure fork adaptiveThrottling adaptiveThrottling=true
	done
	for unit in sec/op B/op allocs/op; do
		echo "$base"
		go run "$benchstat" -filter ".unit:$unit" upstream="$out/upstream.txt" fork="$out/fork.txt" \
			adaptiveThrottling="$out/adaptiveThrottling.txt"
	done
done
