package main

import (
	"cmp"
	"fmt"
	"math"
	"strings"
)

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
