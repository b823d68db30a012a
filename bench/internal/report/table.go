package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"mongofork/bench/internal/gobench"
)

// newTable returns a table that keeps its header as written.
func newTable(header ...any) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = 0
	t.AppendHeader(table.Row(header))
	return t
}

func printTables(w io.Writer, tables ...table.Writer) error {
	for _, t := range tables {
		if _, err := fmt.Fprintln(w, t.Render()); err != nil {
			return err
		}
	}
	return nil
}

// column is a column of a table with a row for each group of runs.
type column[T any] struct {
	name  string
	label bool // what the runs of a group have in common
	cell  func(group []T) string
}

// label is a column by which runs are grouped. It is omitted if all rows agree.
func label[T any](name string, of func(T) string) column[T] {
	return column[T]{name, true, func(group []T) string { return of(group[0]) }}
}

// number is a column of the median and the range of a figure.
func number[T any](name, format string, of func(T) float64) column[T] {
	return column[T]{name, false, func(group []T) string { return spread(values(group, of)).format(format) }}
}

// tableOf groups runs by the labels, in the order of the runs. It leaves out the columns that are empty.
func tableOf[T any](all []T, columns ...column[T]) table.Writer {
	groups := groupedBy(all, columns)
	cells := make([][]string, len(columns))
	var header []any
	for i, c := range columns {
		for _, group := range groups {
			cells[i] = append(cells[i], c.cell(group))
		}
		distinct := slices.Compact(slices.Clone(cells[i]))
		if len(distinct) == 1 && (c.label && len(groups) > 1 || distinct[0] == "") {
			cells[i] = nil
			continue
		}
		header = append(header, c.name)
	}
	t := newTable(header...)
	for row := range groups {
		var r table.Row
		for _, c := range cells {
			if c != nil {
				r = append(r, c[row])
			}
		}
		t.AppendRow(r)
	}
	return t
}

func groupedBy[T any](all []T, columns []column[T]) [][]T {
	var groups [][]T
	index := map[string]int{}
	for _, one := range all {
		var key strings.Builder
		for _, c := range columns {
			if c.label {
				key.WriteString(c.cell([]T{one}) + "\n")
			}
		}
		i, known := index[key.String()]
		if !known {
			i = len(groups)
			index[key.String()], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], one)
	}
	return groups
}

// values returns a figure of each run.
func values[T any](runs []T, of func(T) float64) []float64 {
	all := make([]float64, len(runs))
	for i, run := range runs {
		all[i] = of(run)
	}
	return all
}

// where returns the runs that are wanted.
func where[T any](all []T, want func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(one T) bool { return !want(one) })
}

// measure is a median with its range, or its bounds with a confidence of 95 %.
type measure gobench.Summary

// spread returns the median and the range of values; NaN if there are none.
func spread(all []float64) measure {
	if len(all) == 0 {
		return measure{math.NaN(), math.NaN(), math.NaN()}
	}
	sorted := slices.Sorted(slices.Values(all))
	return measure{Median: gobench.Summarize(all).Median, Low: sorted[0], High: sorted[len(sorted)-1]}
}

// format omits the bounds if they are equal.
func (m measure) format(format string) string {
	print := func(v float64) string {
		switch {
		case math.IsNaN(v):
			return "-"
		case math.IsInf(v, 0):
			return "∞"
		}
		return fmt.Sprintf(format, v)
	}
	middle, low, high := print(m.Median), print(m.Low), print(m.High)
	if low == high {
		return middle
	}
	return fmt.Sprintf("%s (%s to %s)", middle, low, high)
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }
