package demo

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
)

// Comparison is the application's result with both drivers in one scenario.
type Comparison struct {
	Scenario       string
	Upstream, Fork Summary
}

// Table formats the comparisons, two lines each.
func Table(comparisons []Comparison) string {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"Overloaded", "Driver", "Operations", "Errors", "of overload", "Lost writes", "Commands", "Seconds"})
	for _, c := range comparisons {
		t.AppendSeparator()
		t.AppendRow(row(c.Scenario, "upstream", c.Upstream))
		t.AppendRow(row(c.Scenario, "fork", c.Fork))
	}
	return t.Render()
}

func row(scenario, driver string, s Summary) table.Row {
	return table.Row{
		scenario, driver, s.Operations, s.Errors, s.OverloadErrors, s.LostWrites, s.Commands, fmt.Sprintf("%.1f", s.Seconds),
	}
}

// Verdict reports whether the fork did better than upstream: for as many operations in every scenario no lost write, and in all
// of them together fewer errors than upstream's errors and lost writes, which ought to have been errors. A scenario alone may
// have as many if upstream retries as often. The sentence has the numbers and, if the fork did not do better, what is missing.
func Verdict(comparisons []Comparison) (better bool, sentence string) {
	var upstream, fork Summary
	var problems []string
	for _, c := range comparisons {
		upstream.add(c.Upstream)
		fork.add(c.Fork)
		for _, problem := range c.problems() {
			problems = append(problems, c.Scenario+": "+problem)
		}
	}
	if len(comparisons) == 0 {
		problems = append(problems, "nothing was compared")
	} else if fork.Errors >= upstream.Errors+upstream.LostWrites {
		problems = append(problems, fmt.Sprintf("%d errors against %d and %d lost writes", fork.Errors, upstream.Errors, upstream.LostWrites))
	}
	numbers := fmt.Sprintf("upstream showed the application %d errors and lost %d writes in %d operations, the fork %d and %d in %d",
		upstream.Errors, upstream.LostWrites, upstream.Operations, fork.Errors, fork.LostWrites, fork.Operations)
	if len(problems) > 0 {
		return false, fmt.Sprintf("The fork did not do better (%s): %s.", strings.Join(problems, "; "), numbers)
	}
	return true, fmt.Sprintf("The fork did better: %s.", numbers)
}

func (s *Summary) add(other Summary) {
	s.Operations += other.Operations
	s.Errors += other.Errors
	s.LostWrites += other.LostWrites
}

// problems lists the reasons why the fork did not do better.
func (c Comparison) problems() []string {
	var problems []string
	if c.Upstream.Operations != c.Fork.Operations || c.Fork.Operations == 0 {
		problems = append(problems, fmt.Sprintf("%d operations against %d", c.Fork.Operations, c.Upstream.Operations))
	}
	if c.Fork.LostWrites > 0 {
		problems = append(problems, fmt.Sprintf("%d lost writes", c.Fork.LostWrites))
	}
	return problems
}
