package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"mongofork/bench/internal/gobench"
	"mongofork/bench/internal/overhead"
	"mongofork/bench/internal/result"
	"mongofork/bench/internal/size"
	"mongofork/bench/internal/throttle"
)

// The goals under normal conditions.
const (
	timeRatio        = 1.01
	moreAllocations  = 0.5  // of each operation; half of one is the noise of what runs besides
	depositWhenFull  = 2.0  // ns
	consumeAndReturn = 40.0 // ns
)

// PrintOverhead prints the tables of overhead.
func PrintOverhead(w io.Writer, r *overhead.Results) error {
	return printTables(w, overheadTable(r, overhead.Time), overheadTable(r, overhead.ProcessorTime), overheadTable(r, overhead.Allocations))
}

// PrintBucket prints the table of the bucket's benchmarks.
func PrintBucket(w io.Writer, rows []*throttle.Row) error { return printTables(w, bucketTable(rows)) }

// PrintSize prints the table of sizes.
func PrintSize(w io.Writer, all []*size.Program) error { return printTables(w, sizeTable(all)) }

// overheadTable has a row for each case: the median of the first arm, and of each other the ratio to it if the unit is a time, else
// the median.
func overheadTable(r *overhead.Results, unit string) table.Writer {
	timed := unit == overhead.Time || unit == overhead.ProcessorTime
	header, last := []any{"operation", "goroutines", r.Arms[0]}, table.Row{"all", "", ""}
	for _, arm := range r.Arms[1:] {
		header = append(header, arm)
		last = append(last, measure(r.Overall(arm, unit)).format("%.3f"))
	}
	t := newTable(header...)
	for _, c := range r.Cases {
		row := table.Row{c.Workload, c.Goroutines}
		for i, arm := range r.Arms {
			compared := r.Compare(c, arm, unit)
			switch {
			case timed && i == 0:
				row = append(row, fmt.Sprintf("%.1f µs", compared.Before/1000))
			case timed:
				row = append(row, measure(compared.Ratio).format("%.3f"))
			default:
				row = append(row, fmt.Sprintf("%.1f", compared.After))
			}
		}
		t.AppendRow(row)
	}
	if timed {
		t.AppendRow(last)
	}
	return t
}

// overheadGoals are the goals of each arm of the fork. Differences of upstream from itself are the machine's.
func overheadGoals(base string, f *result.File[*overhead.Results]) []goal {
	times := goal{what: "fork of " + base + ": time of an operation, of upstream's", format: "%.3f"}
	allocations := goal{what: "fork of " + base + ": allocations more, in the worst case", format: "%.1f"}
	r := f.Results
	itself := measure(r.Overall(r.Arms[1], overhead.Time))
	for _, arm := range r.Arms {
		if !strings.HasPrefix(arm, "fork") {
			continue
		}
		time := measure(r.Overall(arm, overhead.Time))
		doubt := highLoad(f.Setting)
		switch {
		case itself.Low > 1 || itself.High < 1:
			doubt = "upstream, of itself, is " + itself.format("%.3f")
		case doubt == "" && time.Low <= timeRatio && timeRatio < time.High:
			doubt = "within the bounds"
		}
		times.cases = append(times.cases, figure{name: arm, bound: timeRatio, simulated: notSimulated(), measured: &time, doubt: doubt})
		most := mostAllocations(r, arm)
		allocations.cases = append(allocations.cases, figure{name: arm, bound: moreAllocations, simulated: notSimulated(), measured: &most})
	}
	return []goal{times, allocations}
}

// mostAllocations returns the largest number of allocations by which an arm exceeds the first one.
func mostAllocations(r *overhead.Results, arm string) measure {
	more := values(r.Cases, func(c overhead.Case) float64 {
		compared := r.Compare(c, arm, overhead.Allocations)
		return compared.After - compared.Before
	})
	most := slices.Max(more)
	return measure{most, most, most}
}

// bucketGoals are those of the fork's bucket, compiled as in the fork.
func bucketGoals(f *result.File[[]*throttle.Row]) []goal {
	goals := []goal{
		{what: "token bucket, ns: a deposit when it is full", format: "%.1f"},
		{what: "token bucket, ns: a token taken and returned", format: "%.1f"},
	}
	for i, bound := range []float64{depositWhenFull, consumeAndReturn} {
		benchmark := []string{"DepositWhenFull", "ConsumeAndDeposit"}[i]
		for _, row := range f.Results {
			if row.Benchmark != benchmark || row.Limiter != throttle.Inlined {
				continue
			}
			time, doubt := measure(gobench.Summarize(row.Samples["ns/op"])), highLoad(f.Setting)
			if doubt == "" && time.Low <= bound && bound < time.High {
				doubt = "within the bounds"
			}
			name := fmt.Sprintf("GOMAXPROCS=%d", row.Processors)
			goals[i].cases = append(goals[i].cases, figure{name: name, bound: bound, simulated: notSimulated(), measured: &time, doubt: doubt})
		}
	}
	return goals
}

// bucketTable has a row for each benchmark, limiter, and number of processors.
func bucketTable(rows []*throttle.Row) table.Writer {
	t := newTable("benchmark", "limiter", "GOMAXPROCS", "ns", "allocations")
	for _, row := range rows {
		time := measure(gobench.Summarize(row.Samples["ns/op"]))
		t.AppendRow(table.Row{row.Benchmark, row.Limiter, row.Processors, time.format("%.2f"), slices.Max(row.Samples["allocs/op"])})
	}
	return t
}

// sizeTable has a row for each program.
func sizeTable(programs []*size.Program) table.Writer {
	t := newTable("driver", "bytes", "without symbols", "packages", "modules", "build, s", "of processors, s")
	for _, p := range programs {
		t.AppendRow(table.Row{p.Driver, p.Bytes, p.Stripped, p.Packages, len(p.Modules),
			spread(p.BuildSeconds).format("%.1f"), spread(p.ProcessorSeconds).format("%.1f")})
	}
	return t
}
