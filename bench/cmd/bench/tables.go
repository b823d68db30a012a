package main

import (
	"fmt"
	"strings"
)

// markdown returns a table with a header and rows.
func markdown(rows [][]string) string {
	var text strings.Builder
	for i, row := range rows {
		fmt.Fprintf(&text, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			text.WriteString("|" + strings.Repeat("---|", len(row)) + "\n")
		}
	}
	return text.String()
}

// columns are those that tell most of a scenario.
func (e entry) columns() []column {
	switch {
	case e.Storm != nil:
		return stormColumns()
	case e.Herd > 0:
		return []column{{"connections", "%.0f", opened}}
	}
	columns := append(loadColumns(), column{"in progress", "%.0f", inProgress})
	for i, c := range e.Classes {
		columns = append(columns,
			column{c.Name + ": success, %", "%.1f", func(r result) float64 { return r.Classes[i].Success }},
			column{"99th percentile, s", "%.2f", func(r result) float64 { return r.Classes[i].P99 }})
	}
	return columns
}

// column is a figure of a table.
type column struct {
	name, format string
	of           figure
}

func loadColumns() []column {
	return []column{
		{"goodput, % of the capacity", "%.1f", goodput}, {"commands per operation", "%.2f", commands},
		{"errors, %", "%.1f", failures}, {"median latency, s", "%.2f", p50}, {"99th percentile, s", "%.2f", p99},
	}
}

func stormColumns() []column {
	return []column{
		{"half of the clients connected after, s", "%.1f", func(r result) float64 { return r.Storm.Half }},
		{"the last after, s", "%.1f", lastClient}, {"errors", "%.0f", stormErrors}, {"pools cleared", "%.0f", cleared},
		{"heartbeats failed", "%.0f", func(r result) float64 { return r.Storm.Heartbeats }},
	}
}

// armTable has a row for each arm in a scenario.
func armTable(all measured, scenario string, columns []column, arms ...arm) string {
	header := []string{"driver"}
	for _, c := range columns {
		header = append(header, c.name)
	}
	rows := [][]string{header}
	for _, a := range arms {
		row := []string{a.name}
		for _, c := range columns {
			row = append(row, formatted(c.format, all.get(scenario, a, c.of)))
		}
		rows = append(rows, row)
	}
	return markdown(rows)
}

// row is a figure of a scenario.
type row struct {
	name, scenario string
	format         string
	of             figure
}

// scenarioTable has a row for each figure, of each arm.
func scenarioTable(all measured, head string, figures []row, arms ...arm) string {
	header := []string{head}
	for _, a := range arms {
		header = append(header, a.name)
	}
	rows := [][]string{header}
	for _, f := range figures {
		cells := []string{f.name}
		for _, a := range arms {
			cells = append(cells, formatted(f.format, all.get(f.scenario, a, f.of)))
		}
		rows = append(rows, cells)
	}
	return markdown(rows)
}

// summary is the table of the README: an overload that lasts, and its first seconds, in which the buckets still have tokens.
func (a arms) summary(all measured) string {
	rows := [][]string{{
		"driver", "goodput, % of the capacity", "commands per operation", "median latency, s",
		"goodput of the first 15 s, 10 clients", "100 clients",
	}}
	for _, of := range []struct{ lasting, fresh arm }{
		{a.noRetry, a.noRetry}, {a.twoRetries, a.twoRetries}, {a.fork, a.fork}, {a.spent, a.full}, {a.throttled, a.throttled},
	} {
		row := []string{of.fresh.name}
		for _, c := range []struct {
			arm      arm
			scenario string
			format   string
			of       figure
		}{
			{of.lasting, lastingAt(2, 0.1), "%.1f", goodput}, {of.lasting, lastingAt(2, 0.1), "%.2f", commands},
			{of.lasting, lastingAt(2, 0.1), "%.2f", p50}, {of.fresh, clients(10), "%.1f", goodput},
			{of.fresh, clients(100), "%.1f", goodput},
		} {
			row = append(row, formatted(c.format, all.get(c.scenario, c.arm, c.of)))
		}
		rows = append(rows, row)
	}
	return markdown(rows)
}

// table is a table of a page.
type table struct{ page, marker, text string }

// tables are all tables of pages.
func (a arms) tables(all measured) []table {
	var loads, fleets []row
	for _, load := range plottedLoads() {
		loads = append(loads, row{fmt.Sprintf("%v ×", load), lastingAt(load, 0.1), "%.1f", goodput})
	}
	for _, n := range []int{1, 10, 100, 1000} {
		fleets = append(fleets, row{clients(n), clients(n), "%.1f", goodput})
	}
	var classes []row
	for _, name := range overloadsInClasses() {
		classes = append(classes, row{name + ": critical, %", name, "%.1f", classSuccess(critical)},
			row{"goodput, %", name, "%.1f", goodput})
	}
	const page, goals = "docs/performance.md", "docs/performance/goals.md"
	twice := lastingAt(2, 0.1)
	return []table{
		{"README.md", "summary", a.summary(all)},
		{page, "lasting", armTable(all, twice, loadColumns(), a.noRetry, a.twoRetries, a.fork, a.spent, a.throttled, a.newerFork,
			a.newerSpent, a.newerThrottled)},
		{page, "loads", scenarioTable(all, "goodput, %", loads, a.noRetry, a.twoRetries, a.fork, a.spent, a.throttled,
			a.newerThrottled)},
		{page, "fleets", scenarioTable(all, "goodput, %", fleets, a.noRetry, a.twoRetries, a.full, a.throttled, a.newerThrottled)},
		{page, "storm", armTable(all, "storm", stormColumns(), a.noRetry, a.twoRetries, a.fork, a.full, a.throttled, a.newerFork,
			a.newerFull, a.newerThrottled)},
		{"docs/performance/goodput.svg", "lines", a.plot(all)},
		{page, "neighbours", armTable(all, besideNone, []column{
			{"goodput, % of the capacity", "%.1f", goodput},
			{"own success, %", "%.1f", func(r result) float64 { return r.Own }},
			{"the others', %", "%.1f", func(r result) float64 { return r.Others }},
		}, a.fork, a.throttled, a.newerFork, a.newerThrottled)},
		{goals, "goals tokens", a.goalTable(a.tokenGoals(), all)},
		{goals, "goals classes", a.goalTable(a.classGoals(), all)},
		{goals, "classes", scenarioTable(all, "", classes, a.noRetry, a.prioritized, a.throttled, a.newerThrottled)},
		{goals, "goals throttling", a.goalTable(a.throttlingGoals(), all)},
	}
}
