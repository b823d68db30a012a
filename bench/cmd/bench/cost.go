package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// costPage has a table for each base, after a line that begins with costMarker.
const (
	costPage   = "docs/performance/cost.md"
	costMarker = "cost "
)

// costs are the rows of the page, and the benchmarks that they show.
var costs = []struct{ what, benchmark string }{
	{"FindOne", "/FindOne/cancellable"},
	{"InsertOne", "/InsertOne/cancellable"},
	{"UpdateOne", "/UpdateOne/cancellable"},
	{"transaction of three commands", "/Transaction/cancellable"},
	{"`All`, 1000 documents: Raw", "/AllRaw/cancellable"},
	{"struct", "/AllStructs/cancellable"},
	{"bson.M", "/AllMaps/cancellable"},
	{"InsertMany of 1000", "/InsertMany/cancellable"},
	{"BulkWrite of 100", "/BulkWrite/cancellable"},
	{"FindOne, 64 goroutines", "FindOneGoroutines/64"},
	{"**with a real mongod:** FindOne", "Server/FindOne"},
	{"InsertOne", "Server/InsertOne"},
	{"UpdateOne", "Server/UpdateOne"},
	{"transaction of three commands", "Server/Transaction"},
	{"`All`, 1000 structs", "Server/AllStructs"},
}

// costLine has the figures of a benchmark in one round: processor time, bytes and allocations of an operation.
var costLine = regexp.MustCompile(`(?m)^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+\S+ ns/op\s+(\S+) cpu-ns/op\s+(\S+) B/op\s+(\S+) allocs/op$`)

// readCosts reads what a driver's benchmarks have printed: each figure in each round, by benchmark.
func readCosts(output []byte) map[string][3][]float64 {
	all := map[string][3][]float64{}
	for _, m := range costLine.FindAllStringSubmatch(string(output), -1) {
		rounds := all[m[1]]
		for i := range rounds {
			figure, _ := strconv.ParseFloat(m[i+2], 64) // the benchmarks print numbers
			rounds[i] = append(rounds[i], figure)
		}
		all[m[1]] = rounds
	}
	return all
}

// costTable compares the rounds of two drivers, which took turns.
func costTable(base string, upstream, fork map[string][3][]float64) (string, error) {
	var text strings.Builder
	fmt.Fprintf(&text, "| | allocations: upstream %s → fork, ratio | bytes | ratio of CPU time: median, lowest–highest round |\n"+
		"|---|---|---|---|\n", base)
	for _, row := range costs {
		was, is := upstream[row.benchmark], fork[row.benchmark]
		if len(was[0]) == 0 || len(was[0]) != len(is[0]) {
			return "", fmt.Errorf("%s: %s ran %d times with upstream's driver and %d times with the fork", base, row.benchmark,
				len(was[0]), len(is[0]))
		}
		var shares []float64
		for round := range was[0] {
			shares = append(shares, is[0][round]/was[0][round])
		}
		fmt.Fprintf(&text, "| %s | %s | %s | %.2f, %.2f–%.2f |\n", row.what, fromTo(was[2], is[2]), fromTo(was[1], is[1]),
			median(shares), slices.Min(shares), slices.Max(shares))
	}
	return text.String(), nil
}

// fromTo shows the medians of a figure, and the second as a multiple of the first.
func fromTo(was, is []float64) string {
	before, after := median(was), median(is)
	return fmt.Sprintf("%s → %s, %.2f", thousands(before), thousands(after), after/before)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// thousands rounds a number and puts commas into it.
func thousands(value float64) string {
	digits := strconv.Itoa(int(value + 0.5))
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// writeCosts writes the table of a base from what cost.sh has left in build/cost.
func writeCosts(root, base string) error {
	upstream, missing := os.ReadFile(filepath.Join(root, "build", "cost", base, "upstream.txt"))
	fork, err := os.ReadFile(filepath.Join(root, "build", "cost", base, "fork.txt"))
	if err = errors.Join(missing, err); err != nil {
		return err
	}
	text, err := costTable(base, readCosts(upstream), readCosts(fork))
	if err != nil {
		return err
	}
	return replaceTable(filepath.Join(root, costPage), costMarker+base, text)
}
