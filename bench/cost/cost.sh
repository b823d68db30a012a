#!/usr/bin/env bash
# Measures what operations cost with upstream's driver and with the fork, on the bases given, and prints benchstat's tables, in
# which "~" stands where a difference may be chance. Where there is a valgrind, it counts instructions too, which depend less on the
# machine than time does. "make bench WHAT=cost" builds the programs and calls it; BENCH names some of the benchmarks: BENCH=/FindOne.
set -euo pipefail
cd "$(dirname "$0")/../../build"
benchstat=golang.org/x/perf/cmd/benchstat@v0.0.0-20260409210113-8e83ce0f7b1c

measure() { # DRIVER RESULTS [OPTIONS OF THE CONNECTION STRING, BENCHMARKS]
	BENCH_OPTIONS=${3:-} "with/$1/cost.test" -test.run='^$' -test.bench="${BENCH:-${4:-.}}" -test.benchtime="${EACH:-100ms}" >>"$out/$2.txt"
}

# Those that take the options: the server answers from memory.
canned='^Benchmark$/^(FindOne|InsertOne)$'

# Prints how many instructions a run of a benchmark takes, and those of one operation, as the difference of two runs.
instructions() { # DRIVER BENCHMARK TIMES
	valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null "with/$1/cost.test" -test.run='^$' -test.bench="$2" \
		-test.benchtime="$3x" 2>&1 | awk '/I +refs/ { gsub(",", "", $NF); print $NF }'
}
each() { # DRIVER BENCHMARK
	local few=1000 many=3000
	echo $((($(instructions "$1" "$2" "$many") - $(instructions "$1" "$2" "$few")) / (many - few)))
}

for base in "$@"; do
	out=cost/$base
	rm -rf "$out" && mkdir -p "$out"
	# They take turns, so that what changes on the machine meets all of them.
	for ((round = 1; round <= ${ROUNDS:-10}; round++)); do
		echo "$base: round $round" >&2
		measure "pristine/$base" upstream
		measure "$base" fork
		measure "$base" adaptiveRetries adaptiveRetries=true "$canned"
		measure "$base" adaptiveThrottling adaptiveThrottling=true "$canned"
	done
	for unit in sec/op cpu-sec/op B/op allocs/op; do
		echo "$base"
		go run "$benchstat" -filter ".unit:$unit" upstream="$out/upstream.txt" fork="$out/fork.txt" \
			adaptiveRetries="$out/adaptiveRetries.txt" adaptiveThrottling="$out/adaptiveThrottling.txt"
	done
	if [ -n "$(command -v valgrind)" ]; then
		echo "$base: instructions of one operation, upstream and fork"
		for operation in FindOne InsertOne UpdateOne; do
			benchmark='^Benchmark$'/$operation/background
			echo "$operation $(each "pristine/$base" "$benchmark") $(each "$base" "$benchmark")"
		done
	fi
done
