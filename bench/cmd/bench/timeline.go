package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mongofork/bench/overload"
)

// The picture shows the scenario of this name, drawn into this file.
const (
	pictured    = "over time"
	pictureFile = "docs/performance/overload.svg"
)

// A line's dashes tell it from others without colours.
var pictureLines = []struct{ arm, color, dashes string }{
	{"noRetry", "#57606a", "2 3"},
	{"twoRetries", "#953800", "8 3"},
	{"fork", "#cf222e", "8 3 2 3"},
	{"throttled", "#0969da", ""},
}

// The geometry, in pixels: both panels are equally tall.
const (
	begin, end, tall, between, upper = 60.0, 740.0, 130.0, 44.0, 34.0
	lower                            = upper + tall + between
	total                            = lower + tall + 2*between
	legend                           = 165.0
	longest                          = 5.0 // seconds at the top of the lower panel; longer delays are cut off
)

// canvas is a picture that is being drawn.
type canvas struct {
	strings.Builder
	load     overload.Load
	duration time.Duration
}

func (c *canvas) put(format string, args ...any) { fmt.Fprintf(c, format+"\n", args...) }

// x returns where a time is.
func (c *canvas) x(at time.Duration) float64 {
	return begin + (end-begin)*at.Seconds()/c.duration.Seconds()
}

// timeline draws success and delay over time, one panel above the other.
func (p plan) timeline(all measured) string {
	c := new(canvas)
	for _, e := range p.Scenarios {
		if e.Name == pictured {
			c.load, c.duration = e.Load, e.Duration
		}
	}
	c.frame()
	for i, l := range pictureLines {
		points := all[key{pictured, l.arm}].Timeline()
		stroke := fmt.Sprintf(`stroke="%s" stroke-width="2" stroke-dasharray="%s"`, l.color, cmp.Or(l.dashes, "none"))
		success := c.path(points, upper, func(p overload.Point) float64 { return p.Success / 100 })
		delay := c.path(points, lower, func(p overload.Point) float64 { return min(p.Delay/longest, 1) })
		c.put(`  <path d="%s" fill="none" %s/>`, success, stroke)
		c.put(`  <path d="%s" fill="none" %s/>`, delay, stroke)
		at := begin + float64(i)*legend
		c.put(`  <path d="M%.0f %.0fh30" %s/>`, at, total-16, stroke)
		c.put(`  <text x="%.0f" y="%.0f" fill="#1f2328" font-size="12">%s</text>`, at+36, total-12, p.Arms[l.arm].Name)
	}
	c.put(`</svg>`)
	return c.String()
}

// frame draws all but the lines. In a dark theme the colours are others.
func (c *canvas) frame() {
	c.put(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 %.0f" font-family="Arial, Helvetica, sans-serif" `+
		`font-size="13" role="img" aria-labelledby="title">`, total)
	c.put(`  <title id="title">Success and delay before, during and after an overload, with four drivers</title>`)
	c.put(`  <style>@media (prefers-color-scheme: dark){[fill="#ffffff"]{fill:#0d1117}[fill="#f6f8fa"]{fill:#161b22}` +
		`[fill="#1f2328"]{fill:#e6edf3}[stroke="#d0d7de"]{stroke:#3d444d}[stroke="#57606a"]{stroke:#9198a1}` +
		`[stroke="#953800"]{stroke:#db6d28}[stroke="#cf222e"]{stroke:#ff7b72}[stroke="#0969da"]{stroke:#58a6ff}}</style>`)
	c.put(`  <rect width="760" height="%.0f" fill="#ffffff"/>`, total)
	c.axes(upper, "operations that succeed, %", 100)
	c.axes(lower, "median time of those, s", longest)
	c.put(`  <text x="%.0f" y="%.0f" fill="#1f2328">%.0f s at %.0f times the capacity; before and after, %.0f %% of it</text>`,
		c.x(c.load.Start), lower+tall+18, c.load.Burst.Seconds(), c.load.Peak, 100*c.load.Base)
}

// axes draws the axes of a panel, from 0 to a highest value, and shades the overload.
func (c *canvas) axes(y float64, title string, highest float64) {
	from, until := c.x(c.load.Start), c.x(c.load.Start+c.load.Burst)
	c.put(`  <rect x="%.0f" y="%.0f" width="%.0f" height="%.0f" fill="#f6f8fa"/>`, from, y, until-from, tall)
	c.put(`  <path d="M%.0f %.0fV%.0fH%.0f" fill="none" stroke="#d0d7de"/>`, begin, y, y+tall, end)
	c.put(`  <text x="%.0f" y="%.0f" fill="#1f2328" font-weight="600">%s</text>`, begin, y-8, title)
	c.put(`  <text x="%.0f" y="%.0f" fill="#1f2328" text-anchor="end">0</text>`, begin-6, y+tall)
	c.put(`  <text x="%.0f" y="%.0f" fill="#1f2328" text-anchor="end">%.0f</text>`, begin-6, y+10, highest)
}

// path is a line through points, of which a function gives the height in a panel, from 0 to 1.
func (c *canvas) path(points []overload.Point, y float64, of func(overload.Point) float64) string {
	var steps []string
	for i, point := range points {
		command := map[bool]string{true: "M", false: "L"}[i == 0]
		steps = append(steps, fmt.Sprintf("%s%.0f %.0f", command, c.x(point.At), y+tall*(1-of(point))))
	}
	return strings.Join(steps, "")
}

// writeTimeline draws the picture of what was measured.
func (p plan) writeTimeline(root string, all measured) error {
	return os.WriteFile(filepath.Join(root, pictureFile), []byte(p.timeline(all)), 0o644) //nolint:gosec // everybody may read it
}
