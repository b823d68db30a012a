package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"mongofork/bench/overload"
	"mongofork/tools/strict"
)

//go:embed plan.yaml
var planText string

// plan is what plan.yaml says.
type plan struct {
	Arms      map[string]arm
	Scenarios []entry
	Tables    []table
}

// arm is a driver with options.
type arm struct {
	Name    string
	Driver  string
	Options string // like the next field, as in overload.Job
	Spent   bool
}

// entry is a scenario and the arms that meet it, each with servers of its own.
type entry struct {
	overload.Scenario `yaml:",inline"`
	Arms              []string
}

// newPlan returns the plan for the oldest and the newest base.
func newPlan(older, newer string) (p plan, err error) {
	text := strings.NewReplacer("OLDER", older, "NEWER", newer).Replace(planText)
	if err := strict.Decode([]byte(text), &p); err != nil {
		return p, fmt.Errorf("plan.yaml: %w", err)
	}
	for i := range p.Scenarios {
		e := &p.Scenarios[i]
		e.Clients, e.Capacity, e.Seeds = cmp.Or(e.Clients, 10), cmp.Or(e.Capacity, 200), cmp.Or(e.Seeds, 2)
	}
	return p, nil
}

// table is a table of a page, between the markers with its name.
type table struct {
	Page, Marker string
	Head         []string // of the first columns, or of all
	Arms         []string
	Lines        []row
}

// row is a figure in scenarios.
type row struct {
	What, Wanted string
	Of, Format   string
	In           []string
	Arms         []string // instead of the table's
}

// text returns the table in Markdown, with a dash where there is no figure.
func (t table) text(p plan, all measured) string {
	head := slices.Clone(t.Head)
	if len(head) == 1 {
		for _, a := range t.Arms {
			head = append(head, p.Arms[a].Name)
		}
	}
	var text strings.Builder
	line := func(cells []string) { fmt.Fprintf(&text, "| %s |\n", strings.Join(cells, " | ")) }
	line(head)
	text.WriteString("|" + strings.Repeat("---|", len(head)) + "\n")
	for _, l := range t.Lines {
		texts := []string{l.What}
		if l.Wanted != "" {
			texts = []string{l.What + ": " + strings.Join(l.In, "; "), l.Wanted}
		}
		for _, a := range l.arms(t) {
			var cells []string
			for _, scenario := range l.In {
				cell := "-"
				if v, ok := all[key{scenario, a}][l.Of]; ok {
					cell = fmt.Sprintf(cmp.Or(l.Format, "%.1f"), v)
				}
				cells = append(cells, cell)
			}
			texts = append(texts, strings.Join(cells, "; "))
		}
		line(texts)
	}
	return text.String()
}

// arms are those of which a row has figures.
func (l row) arms(t table) []string {
	if l.Arms != nil {
		return l.Arms
	}
	return t.Arms
}
