package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"mongofork/bench/internal/result"
)

// goal is a goal, and the findings in each of its cases.
type goal struct {
	what   string
	least  bool   // the bounds are lower ones
	format string // of all figures
	cases  []figure
}

// figure is the finding in one case.
type figure struct {
	name  string
	bound float64
	// simulated is NaN, and measured nil, without such a finding.
	simulated float64
	measured  *measure
	// doubt is the reason why the measurement decides nothing; empty if it does.
	doubt string
}

// goalTable has a row for each goal. Without simulations it has no column for them.
func goalTable(goals []goal, simulated bool) table.Writer {
	header := []any{"what", "wanted", "simulated", "measured", "met"}
	if !simulated {
		header = slices.Delete(header, 2, 3)
	}
	t := newTable(header...)
	for _, g := range goals {
		row := table.Row{g.title(), g.wanted(), g.each(g.simulation), g.each(g.measurement), g.verdicts()}
		if !simulated {
			row = slices.Delete(row, 2, 3)
		}
		t.AppendRow(row)
	}
	return t
}

// title names the cases in the order of the figures.
func (g goal) title() string {
	if len(g.cases) == 1 && g.cases[0].name == "" {
		return g.what
	}
	return g.what + ": " + g.each(func(f figure) string { return f.name })
}

func (g goal) each(of func(figure) string) string {
	all := make([]string, len(g.cases))
	for i, f := range g.cases {
		all[i] = of(f)
	}
	if distinct := slices.Compact(slices.Clone(all)); len(distinct) == 1 && distinct[0] == "-" {
		return "-"
	}
	return strings.Join(all, "; ")
}

func (g goal) wanted() string {
	bounds := g.each(func(f figure) string { return fmt.Sprintf(g.format, f.bound) })
	if !slices.ContainsFunc(g.cases, func(f figure) bool { return f.bound != g.cases[0].bound }) {
		bounds = fmt.Sprintf(g.format, g.cases[0].bound)
	}
	if g.least {
		return "at least " + bounds
	}
	return "at most " + bounds
}

func (g goal) simulation(f figure) string {
	return measure{f.simulated, f.simulated, f.simulated}.format(g.format)
}

func (g goal) measurement(f figure) string {
	if f.measured == nil {
		return "-"
	}
	return f.measured.format(g.format)
}

// verdicts says in which cases the measurements met a goal. A simulation decides nothing, but is shown if there is no
// measurement.
func (g goal) verdicts() string {
	open := goal{format: g.format, least: g.least}
	verdict := g.distinct(func(f figure) string {
		undecided := ""
		switch {
		case f.measured == nil:
			undecided = "not measured"
		case math.IsNaN(f.measured.Median):
			undecided = "not decided: nothing to compare with"
		case f.doubt != "":
			undecided = "not decided: " + f.doubt
		default:
			return g.met(f.measured.Median, f.bound)
		}
		if !math.IsNaN(f.simulated) {
			open.cases = append(open.cases, f)
		}
		return undecided
	})
	if len(open.cases) > 0 {
		verdict += " (simulated: " + open.distinct(func(f figure) string { return g.met(f.simulated, f.bound) }) + ")"
	}
	return verdict
}

// distinct returns the statements about the cases, each with the names of its cases unless it is about all.
func (g goal) distinct(say func(figure) string) string {
	var all []string
	cases := map[string][]string{}
	for _, f := range g.cases {
		said := say(f)
		if cases[said] == nil {
			all = append(all, said)
		}
		cases[said] = append(cases[said], f.name)
	}
	if len(all) > 1 {
		for i, said := range all {
			all[i] = strings.Join(cases[said], ", ") + ": " + said
		}
	}
	return strings.Join(all, "; ")
}

// met says whether a goal is met, or by how much it is missed.
func (g goal) met(value, bound float64) string {
	missed := value - bound
	if g.least {
		missed = -missed
	}
	switch {
	case missed <= 0:
		return "yes"
	case math.IsNaN(missed) || math.IsInf(missed, 0):
		return "no"
	}
	return "no, by " + fmt.Sprintf(g.format, missed)
}

// highLoad says whether the machine had more to do at the start of a measurement than its processors can at once, or whether that
// is unknown.
func highLoad(s *result.Setting) string {
	load, err := strconv.ParseFloat(s.Load, 64)
	switch {
	case err != nil:
		return "load at the start unknown"
	case load > float64(s.Processors):
		return "load " + s.Load + " at the start"
	}
	return ""
}
