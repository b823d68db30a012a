package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// table is a table of a page, between the markers with its name. If it is turned, its lines are columns.
type table struct {
	Page, Marker string
	Head         []string // of the first columns, or of all
	Turned       bool
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
	rows := [][]string{head}
	for _, l := range t.Lines {
		texts := []string{l.What}
		if l.Wanted != "" {
			texts = []string{l.What + ": " + strings.Join(l.In, "; "), l.Wanted}
		}
		arms := t.Arms
		if l.Arms != nil {
			arms = l.Arms
		}
		for _, a := range arms {
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
		rows = append(rows, texts)
	}
	if t.Turned {
		rows = turned(rows)
	}
	return markdown(rows)
}

func turned(rows [][]string) [][]string {
	columns := make([][]string, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			columns[i] = append(columns[i], cell)
		}
	}
	return columns
}

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

// line is one of the picture: an arm's goodput in a scenario for each of the plan's loads.
type line struct {
	Name, Arm      string
	In             []string
	Colour, Dashes string
}

// plot returns the lines of docs/performance/goodput.svg, and what each is. The picture has the axes: from 1.1 to 10 times the capacity,
// logarithmic, and from nothing to all of it.
func (p plan) plot(all measured) string {
	var text strings.Builder
	for i, l := range p.Plot {
		var points []string
		for j, load := range p.Loads {
			x := 56 + 384*math.Log(load/1.1)/math.Log(10/1.1)
			y := 250 - 2.34*all[key{l.In[j], l.Arm}]["goodput"]
			points = append(points, fmt.Sprintf("%.1f %.1f", x, y))
		}
		style := fmt.Sprintf(`fill="none" stroke="%s" stroke-width="2" stroke-dasharray="%s"`, l.Colour, cmp.Or(l.Dashes, "none"))
		fmt.Fprintf(&text, "  <path d=\"M%s\" %s/>\n", strings.Join(points, " "), style)
		fmt.Fprintf(&text, "  <path d=\"M468 %dh32\" %s/>\n", 36+26*i, style)
		fmt.Fprintf(&text, "  <text x=\"508\" y=\"%d\" fill=\"#1f2328\">%s</text>\n", 40+26*i, l.Name)
	}
	return text.String()
}
