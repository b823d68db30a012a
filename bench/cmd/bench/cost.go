package main

import (
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

// cost is what an operation costs, in one round.
type cost struct{ processor, bytes, allocations float64 }

var costLine = regexp.MustCompile(`(?m)^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+\S+ ns/op\s+(\S+) cpu-ns/op\s+(\S+) B/op\s+(\S+) allocs/op$`)

// readCosts reads what a driver's benchmarks have printed: the rounds of each.
func readCosts(output string) map[string][]cost {
	rounds := map[string][]cost{}
	for _, m := range costLine.FindAllStringSubmatch(output, -1) {
		var figures [3]float64
		for i := range figures {
			figures[i], _ = strconv.ParseFloat(m[i+2], 64) // the benchmarks print numbers
		}
		rounds[m[1]] = append(rounds[m[1]], cost{figures[0], figures[1], figures[2]})
	}
	return rounds
}

// costTable compares the rounds of two drivers, which took turns.
func costTable(base string, upstream, fork map[string][]cost) (string, error) {
	var text strings.Builder
	fmt.Fprintf(&text, "| | allocations: upstream %s → fork, ratio | bytes | ratio of CPU time: median, lowest–highest round |\n"+
		"|---|---|---|---|\n", base)
	for _, row := range costs {
		was, is := upstream[row.benchmark], fork[row.benchmark]
		if len(was) == 0 || len(was) != len(is) {
			return "", fmt.Errorf("%s: %s ran %d times with upstream's driver and %d times with the fork", base, row.benchmark,
				len(was), len(is))
		}
		var shares []float64
		for round := range was {
			shares = append(shares, is[round].processor/was[round].processor)
		}
		fmt.Fprintf(&text, "| %s | %s | %s | %.2f, %.2f–%.2f |\n", row.what,
			fromTo(was, is, func(c cost) float64 { return c.allocations }),
			fromTo(was, is, func(c cost) float64 { return c.bytes }),
			median(shares), slices.Min(shares), slices.Max(shares))
	}
	return text.String(), nil
}

// fromTo shows the medians of a figure, and the second as a multiple of the first.
func fromTo(was, is []cost, of func(cost) float64) string {
	figures := func(rounds []cost) (all []float64) {
		for _, c := range rounds {
			all = append(all, of(c))
		}
		return all
	}
	before, after := median(figures(was)), median(figures(is))
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

// writeCosts writes the tables of the page from what cost.sh has left in build/cost.
func writeCosts(root string, bases ...string) error {
	for _, base := range bases {
		drivers := map[string]map[string][]cost{}
		for _, driver := range []string{"upstream", "fork"} {
			output, err := os.ReadFile(filepath.Join(root, "build", "cost", base, driver+".txt"))
			if err != nil {
				return err
			}
			drivers[driver] = readCosts(string(output))
		}
		text, err := costTable(base, drivers["upstream"], drivers["fork"])
		if err != nil {
			return err
		}
		if err := replaceTable(filepath.Join(root, costPage), costMarker+base, text); err != nil {
			return err
		}
	}
	return nil
}
