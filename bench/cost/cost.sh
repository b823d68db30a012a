#!/usr/bin/env bash
# Measures what operations cost with upstream's driver and with the fork, on the bases given, and prints benchstat's tables, in
# which "~" stands where a difference may be chance; docs/performance/cost.md has them. "make bench WHAT=cost" builds the programs and
# calls it.
set -euo pipefail
cd "$(dirname "$0")/../../build"
benchstat=golang.org/x/perf/cmd/benchstat@v0.0.0-20260409210113-8e83ce0f7b1c

measure() { # DRIVER RESULTS [OPTIONS OF THE CONNECTION STRING]
	BENCH_OPTIONS=${3:-} "with/$1/cost.test" -test.run='^$' -test.bench=. -test.benchtime="${EACH:-100ms}" >>"$out/$2.txt"
}

for base in "$@"; do
	out=cost/$base
	rm -rf "$out" && mkdir -p "$out"
	# They take turns, so that what changes on the machine meets all of them.
	for ((round = 1; round <= ${ROUNDS:-10}; round++)); do
		echo "$base: round $round" >&2
		measure "pristine/$base" upstream
		measure "$base" fork
		measure "$base" adaptiveThrottling adaptiveThrottling=true
	done
	for unit in sec/op B/op allocs/op; do
		echo "$base"
		go run "$benchstat" -filter ".unit:$unit" upstream="$out/upstream.txt" fork="$out/fork.txt" \
			adaptiveThrottling="$out/adaptiveThrottling.txt"
	done
done
