package main

import (
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

// The geometry, in pixels: both panels are equally tall.
const (
	begin, end, tall, between, upper = 60.0, 740.0, 130.0, 44.0, 34.0
	lower                            = upper + tall + between
	total                            = lower + tall + 2.5*between
	legend                           = 230.0
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

// timeline draws success and delay over time, one panel above the other, with the lines that the first picture has for these arms.
func (p plan) timeline(all measured) string {
	c := new(canvas)
	for _, e := range p.Scenarios {
		if e.Name == pictured {
			c.load, c.duration = e.Load, e.Duration
		}
	}
	c.frame()
	drawn := 0
	for _, l := range p.Pictures[0].Lines {
		result, ok := all[key{pictured, l.Arm}]
		if !ok {
			continue
		}
		points, stroke := result.Timeline(), l.stroke()
		success := c.path(points, upper, func(p overload.Point) float64 { return p.Success / 100 })
		delay := c.path(points, lower, func(p overload.Point) float64 { return min(p.Delay/longest, 1) })
		c.put(`  <path d="%s" %s/>`, success, stroke)
		c.put(`  <path d="%s" %s/>`, delay, stroke)
		at, row := begin+float64(drawn%3)*legend, total-16-24*float64(1-drawn/3)
		c.put(`  <path d="M%.0f %.0fh30" %s/>`, at, row, stroke)
		c.put(`  <text x="%.0f" y="%.0f" fill="#1f2328" font-size="12">%s</text>`, at+36, row+4, p.Arms[l.Arm].Name)
		drawn++
	}
	c.put(`</svg>`)
	return c.String()
}

// frame draws all but the lines. In a dark theme the colours are others.
func (c *canvas) frame() {
	c.put(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 %.0f" font-family="Arial, Helvetica, sans-serif" `+
		`font-size="13" role="img" aria-labelledby="title">`, total)
	c.put(`  <title id="title">Success and delay before, during and after an overload</title>`)
	c.put(`  %s`, darkTheme)
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
