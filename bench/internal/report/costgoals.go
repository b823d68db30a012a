package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"mongofork/bench/internal/gobench"
	"mongofork/bench/internal/overhead"
	"mongofork/bench/internal/throttle"
)

// The goals where all is well.
const (
	timeRatio        = 1.01
	moreAllocations  = 0.5  // of each operation; half of one is the noise of what runs besides
	depositWhenFull  = 2.0  // ns
	consumeAndReturn = 40.0 // ns
)

// overheadGoalTable has the goals of each arm that is the fork.
func overheadGoalTable(r *overhead.Results) table.Writer {
	t := newTable("goal", "driver", "wanted", "measured", "met")
	for _, arm := range r.Arms {
		if !strings.HasPrefix(arm, "fork") {
			continue
		}
		times := r.Overall(arm, overhead.Time)
		t.AppendRow(table.Row{
			"time, of upstream's", arm, fmt.Sprintf("at most %.2f", timeRatio), ratio(times),
			met(times.Median <= timeRatio, times.Median-timeRatio, "%.3f") + doubt(times),
		})
		most, where := mostAllocations(r, arm)
		t.AppendRow(table.Row{
			"allocations per operation", arm, "not one more", fmt.Sprintf("%+.1f (%s)", most, where),
			met(most < moreAllocations, most, "%.1f"),
		})
	}
	return t
}

// doubt says so if the bounds of a ratio of times include its goal: the run cannot tell then on which side of it the driver is.
func doubt(times gobench.Summary) string {
	if times.Low <= timeRatio && timeRatio < times.High {
		return "; within the bounds"
	}
	return ""
}

// mostAllocations returns how many allocations more than the first arm an arm has where these are most.
func mostAllocations(r *overhead.Results, arm string) (most float64, where overhead.Case) {
	for i, c := range r.Cases {
		compared := r.Compare(c, arm, overhead.Allocations)
		if more := compared.After - compared.Before; i == 0 || more > most {
			most, where = more, c
		}
	}
	return most, where
}

// bucketGoalTable has the goals of the fork's bucket, with and without what the benchmark itself takes.
func bucketGoalTable(rows []*throttle.Row) table.Writer {
	t := newTable("goal", "bucket", "GOMAXPROCS", "wanted, ns", "measured, ns", "net of the empty loop, ns", "allocations", "met")
	for _, goal := range []struct {
		benchmark string
		most      float64
	}{{"DepositWhenFull", depositWhenFull}, {"ConsumeAndDeposit", consumeAndReturn}} {
		for _, limiter := range []string{throttle.Inlined, throttle.Bucket} {
			for _, row := range rows {
				if row.Benchmark == goal.benchmark && row.Limiter == limiter {
					t.AppendRow(bucketGoal(rows, row, goal.most))
				}
			}
		}
	}
	return t
}

func bucketGoal(rows []*throttle.Row, row *throttle.Row, most float64) table.Row {
	gross := medianTime(row)
	allocations := slices.Max(row.Samples["allocs/op"])
	net, known := gross, "not measured"
	if loop := findRow(rows, throttle.EmptyLoop, throttle.NoLimiter, row.Processors); loop != nil {
		net = gross - medianTime(loop)
		known = fmt.Sprintf("%.2f", net)
	}
	verdict := met(net <= most, net-most, "%.2f ns")
	switch {
	case allocations > 0:
		verdict = "no, it allocates"
	case net <= most && gross > most:
		verdict = "yes, net"
	}
	return table.Row{
		row.Benchmark, row.Limiter, row.Processors, fmt.Sprintf("at most %.0f", most), fmt.Sprintf("%.2f", gross), known, allocations, verdict,
	}
}

func medianTime(row *throttle.Row) float64 { return gobench.Summarize(row.Samples["ns/op"]).Median }

// findRow returns nil if there is none.
func findRow(rows []*throttle.Row, benchmark, limiter string, processors int) *throttle.Row {
	for _, row := range rows {
		if row.Benchmark == benchmark && row.Limiter == limiter && row.Processors == processors {
			return row
		}
	}
	return nil
}
