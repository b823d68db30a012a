package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"mongofork/bench/internal/gobench"
	"mongofork/bench/internal/overhead"
	"mongofork/bench/internal/size"
	"mongofork/bench/internal/throttle"
)

// PrintOverhead prints the table of overhead.
func PrintOverhead(w io.Writer, r *overhead.Results) error { return printTable(w, overheadTable(r)) }

// PrintBucket prints the table of the bucket's benchmarks.
func PrintBucket(w io.Writer, rows []*throttle.Row) error { return printTable(w, bucketTable(rows)) }

// PrintSize prints the table of sizes.
func PrintSize(w io.Writer, programs []*size.Program) error {
	return printTable(w, sizeTable(programs))
}

func printTable(w io.Writer, t table.Writer) error {
	_, err := fmt.Fprintln(w, t.Render())
	return err
}

// newTable returns a table that keeps its header as written.
func newTable(header ...any) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = 0
	t.AppendHeader(table.Row(header))
	return t
}

// overheadTable has a row for each case, and one for all of them, with each arm but the first.
func overheadTable(r *overhead.Results) table.Writer {
	t := newTable("operation", "goroutines", "driver", "time", "client's processor time", "µs", "allocations", "bytes")
	for _, arm := range r.Arms[1:] {
		for _, c := range r.Cases {
			time := r.Compare(c, arm, overhead.Time)
			allocations, bytes := r.Compare(c, arm, overhead.Allocations), r.Compare(c, arm, overhead.Bytes)
			t.AppendRow(table.Row{
				c.Workload, c.Goroutines, arm, ratio(time.Ratio), ratio(r.Compare(c, arm, overhead.ProcessorTime).Ratio),
				change(time.Before/1000, time.After/1000, 1), change(allocations.Before, allocations.After, 1),
				change(bytes.Before, bytes.After, 0),
			})
		}
		t.AppendRow(table.Row{"all", "", arm, ratio(r.Overall(arm, overhead.Time)), ratio(r.Overall(arm, overhead.ProcessorTime)),
			"", "", ""})
	}
	return t
}

// ratio formats a ratio with its bounds.
func ratio(s gobench.Summary) string {
	if math.IsInf(s.Low, 0) || math.IsInf(s.High, 0) {
		return fmt.Sprintf("%.3f (too few rounds for bounds)", s.Median)
	}
	return fmt.Sprintf("%.3f (%.3f to %.3f)", s.Median, s.Low, s.High)
}

// change formats a number before and after.
func change(before, after float64, digits int) string {
	format := func(v float64) string { return strconv.FormatFloat(v, 'f', digits, 64) }
	return format(before) + " → " + format(after)
}

// bucketTable has a row for each benchmark and limiter, and a column for each number of processors.
func bucketTable(rows []*throttle.Row) table.Writer {
	var processors []int
	for _, row := range rows {
		if !slices.Contains(processors, row.Processors) {
			processors = append(processors, row.Processors)
		}
	}
	header := []any{"benchmark", "limiter"}
	for _, p := range processors {
		header = append(header, fmt.Sprintf("ns, GOMAXPROCS=%d", p))
	}
	t := newTable(append(header, "allocations")...)
	for _, first := range rows {
		if first.Processors != processors[0] {
			continue
		}
		cells := table.Row{first.Benchmark, first.Limiter}
		var allocations float64
		for _, p := range processors {
			row := findRow(rows, first.Benchmark, first.Limiter, p)
			if row == nil {
				cells = append(cells, "")
				continue
			}
			s := gobench.Summarize(row.Samples["ns/op"])
			cells = append(cells, fmt.Sprintf("%.2f (%.2f to %.2f)", s.Median, s.Low, s.High))
			allocations = max(allocations, slices.Max(row.Samples["allocs/op"]))
		}
		t.AppendRow(append(cells, allocations))
	}
	return t
}

// sizeTable has a column for each program.
func sizeTable(programs []*size.Program) table.Writer {
	header := []any{""}
	for _, p := range programs {
		header = append(header, p.Driver)
	}
	t := newTable(header...)
	row := func(name string, value func(*size.Program) string) {
		cells := table.Row{name}
		for _, p := range programs {
			cells = append(cells, value(p))
		}
		t.AppendRow(cells)
	}
	row("program, bytes", func(p *size.Program) string { return strconv.FormatInt(p.Bytes, 10) })
	row("without symbols, bytes", func(p *size.Program) string { return strconv.FormatInt(p.Stripped, 10) })
	row("packages in it, but for the standard library", func(p *size.Program) string { return strconv.Itoa(p.Packages) })
	row("modules they are from", func(p *size.Program) string { return strconv.Itoa(len(p.Modules)) })
	row("build with empty caches, seconds", func(p *size.Program) string { return seconds(p.BuildSeconds) })
	row("the same, of all processors", func(p *size.Program) string { return seconds(p.ProcessorSeconds) })
	return t
}

// seconds formats the median of times and their range.
func seconds(all []float64) string {
	if len(all) == 0 {
		return "not measured"
	}
	return fmt.Sprintf("%.1f (%.1f to %.1f)", gobench.Summarize(all).Median, slices.Min(all), slices.Max(all))
}

// addedModules says which modules the last program has that the first has not.
func addedModules(programs []*size.Program) string {
	first, last := programs[0], programs[len(programs)-1]
	var added []string
	for _, module := range last.Modules {
		if !slices.Contains(first.Modules, module) {
			added = append(added, module)
		}
	}
	if len(added) == 0 {
		return "none"
	}
	return strings.Join(added, ", ")
}
