package soak

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Tally adds up the applications' findings.
type Tally struct {
	arms  []Arm
	sums  []sum // by arm
	first []string
}

// sum is the result of one application.
type sum struct {
	operations, errors, held int64
	most                     int
	violations               map[string]int64
	classes                  map[string]int64
}

// NewTally returns an empty tally.
func NewTally(arms []Arm) *Tally {
	t := &Tally{arms: arms, sums: make([]sum, len(arms))}
	for i := range t.sums {
		t.sums[i] = sum{violations: make(map[string]int64), classes: make(map[string]int64)}
	}
	return t
}

// Add adds the reports of a seed, in the order of the arms.
func (t *Tally) Add(seed uint64, reports []*Report) {
	for i, r := range reports {
		s := &t.sums[i]
		s.operations += r.Operations
		for class, n := range r.Errors {
			s.errors += n
			s.classes[class] += n
		}
		s.most = max(s.most, r.Most)
		s.held += r.Held
		for _, kind := range slices.Sorted(maps.Keys(r.Violations)) {
			v := r.Violations[kind]
			if s.violations[kind] == 0 {
				t.first = append(t.first, fmt.Sprintf("%s, seed %d, the first of %s: %.1000s", t.arms[i].Name, seed, kind, v.Example))
			}
			s.violations[kind] += v.Count
		}
	}
}

// Failed reports whether an application that has to pass found a violation.
func (t *Tally) Failed() bool {
	for i, arm := range t.arms {
		if !arm.Reference && len(t.sums[i].violations) > 0 {
			return true
		}
	}
	return false
}

// Render returns the tables, side by side, and an example of each violation.
func (t *Tally) Render(markdown bool) string {
	render := func(w table.Writer) string {
		if markdown {
			return w.RenderMarkdown() + "\n\n"
		}
		return w.Render() + "\n\n"
	}
	return render(t.violations()) + render(t.classes()) + strings.Join(append(t.first, ""), "\n")
}

func (t *Tally) table(title string) table.Writer {
	w := table.NewWriter()
	w.SetStyle(table.StyleLight)
	w.Style().Format.Header = text.FormatDefault
	header, columns := table.Row{title}, []table.ColumnConfig(nil)
	for i, arm := range t.arms {
		header = append(header, arm.Name)
		columns = append(columns, table.ColumnConfig{Number: i + 2, Align: text.AlignRight})
	}
	w.AppendHeader(header)
	w.SetColumnConfigs(columns)
	return w
}

// row appends a row of one number for each application.
func (t *Tally) row(w table.Writer, title string, of func(*sum) any) {
	row := table.Row{title}
	for i := range t.sums {
		row = append(row, of(&t.sums[i]))
	}
	w.AppendRow(row)
}

func (t *Tally) violations() table.Writer {
	w := t.table("")
	t.row(w, "operations", func(s *sum) any { return s.operations })
	t.row(w, "errors that are documented", func(s *sum) any { return s.errors })
	t.row(w, "commands of one operation, at most", func(s *sum) any { return s.most })
	t.row(w, "commits while the primary died", func(s *sum) any { return s.held })
	w.AppendSeparator()
	for _, kind := range kinds {
		t.row(w, kind, func(s *sum) any { return s.violations[kind] })
	}
	return w
}

func (t *Tally) classes() table.Writer {
	w := t.table("errors that are documented")
	all := make(map[string]bool)
	for _, s := range t.sums {
		for class := range s.classes {
			all[class] = true
		}
	}
	for _, class := range slices.Sorted(maps.Keys(all)) {
		t.row(w, class, func(s *sum) any { return s.classes[class] })
	}
	return w
}
