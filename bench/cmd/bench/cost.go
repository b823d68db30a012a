package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// costPage has a table for each base, whose marker is costMarker and the base.
const (
	costPage   = "docs/performance/cost.md"
	costMarker = "cost "
)

// What a figure of costs is.
const (
	processor = iota // nanoseconds
	allocated        // bytes
	allocations
	figures
)

var costLine = regexp.MustCompile(`(?m)^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+\S+ ns/op\s+(\S+) cpu-ns/op\s+(\S+) B/op\s+(\S+) allocs/op$`)

// readCosts reads what a driver's benchmarks have printed: of each the figures, in each of its rounds.
func readCosts(file string) (map[string][figures][]float64, error) {
	output, err := os.ReadFile(file)
	costs := map[string][figures][]float64{}
	for _, m := range costLine.FindAllStringSubmatch(string(output), -1) {
		cost := costs[m[1]]
		for i := range cost {
			figure, _ := strconv.ParseFloat(m[i+2], 64) // the benchmarks print numbers
			cost[i] = append(cost[i], figure)
		}
		costs[m[1]] = cost
	}
	return costs, err
}

// writeCosts writes the tables of the page from what cost.sh has left in build/cost: two drivers, whose rounds took turns.
func (p plan) writeCosts(root string, bases ...string) error {
	for _, base := range bases {
		folder := filepath.Join(root, "build", "cost", base)
		upstream, err := readCosts(filepath.Join(folder, "upstream.txt"))
		if err != nil {
			return err
		}
		fork, err := readCosts(filepath.Join(folder, "fork.txt"))
		if err != nil {
			return err
		}
		text := "| | allocations: upstream " + base + " → fork, ratio | bytes | ratio of CPU time: median, lowest–highest round |" +
			"\n|---|---|---|---|\n"
		for _, row := range p.Costs {
			was, is := upstream[row.Of], fork[row.Of]
			if n, m := len(was[processor]), len(is[processor]); n == 0 || n != m {
				return fmt.Errorf("%s: %s ran %d times with upstream's driver and %d times with the fork", base,
					row.Of, n, m)
			}
			var shares []float64
			for round, before := range was[processor] {
				shares = append(shares, is[processor][round]/before)
			}
			text += fmt.Sprintf("| %s | %s | %s | %.2f, %.2f–%.2f |\n", row.What, fromTo(was[allocations], is[allocations]),
				fromTo(was[allocated], is[allocated]), median(shares), slices.Min(shares), slices.Max(shares))
		}
		if err := replaceTable(filepath.Join(root, costPage), costMarker+base, text); err != nil {
			return err
		}
	}
	return nil
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
