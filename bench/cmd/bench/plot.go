package main

import (
	"fmt"
	"math"
	"strings"
)

// plottedLoads are the multiples of the capacity in the picture and in its table.
func plottedLoads() []float64 { return []float64{1.1, 1.5, 2, 4, 10} }

// line is one of the picture: an arm in scenarios by load, with a colour that the picture's style knows in the dark, too.
type line struct {
	name     string
	arm      arm
	scenario func(load float64) string
	colour   string
	dashes   string
}

func (a arms) lines() []line {
	lasts := func(load float64) string { return lastingAt(load, 0.1) }
	return []line{
		{a.noRetry.name, a.noRetry, lasts, "#57606a", ""},
		{a.twoRetries.name, a.twoRetries, lasts, "#b35900", "6 3"},
		{a.fork.name, a.fork, lasts, "#cf222e", ""},
		{"adaptiveRetries, full bucket, first 15 s", a.full, firstSeconds, "#1a7f37", ""},
		{"adaptiveRetries, tokens spent", a.spent, lasts, "#1a7f37", "2 3"},
		{"adaptiveThrottling", a.throttled, lasts, "#0969da", ""},
		{a.newerThrottled.name, a.newerThrottled, lasts, "#8250df", "8 3 2 3"},
	}
}

// plot returns the lines of docs/performance/goodput.svg, and what each is. The picture has the axes: from 1.1 to 10 times the capacity,
// logarithmic, and from nothing to all of it.
func (a arms) plot(all measured) string {
	var text strings.Builder
	for i, l := range a.lines() {
		var points []string
		for _, load := range plottedLoads() {
			x := 56 + 384*math.Log(load/1.1)/math.Log(10/1.1)
			y := 250 - 2.34*all.get(l.scenario(load), l.arm, goodput)
			points = append(points, fmt.Sprintf("%.1f %.1f", x, y))
		}
		style := fmt.Sprintf(`fill="none" stroke="%s" stroke-width="2"`, l.colour)
		if l.dashes != "" {
			style += fmt.Sprintf(` stroke-dasharray="%s"`, l.dashes)
		}
		fmt.Fprintf(&text, "  <path d=\"M%s\" %s/>\n", strings.Join(points, " "), style)
		fmt.Fprintf(&text, "  <path d=\"M468 %dh32\" %s/>\n", 36+26*i, style)
		fmt.Fprintf(&text, "  <text x=\"508\" y=\"%d\" fill=\"#1f2328\">%s</text>\n", 40+26*i, l.name)
	}
	return text.String()
}
