package main

import (
	"fmt"
	"html"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// picture is a figure of arms over a number that scenarios differ in, with a scale from 0 to 100.
type picture struct {
	File, Title, X, Y string
	Of                string
	Lines             []line
	Points            []point
}

// line is how an arm is drawn: its dashes, and the color that they have beside the others.
type line struct{ Arm, Color, Dashes, Width string }

// stroke returns the attributes of the line.
func (l line) stroke() string {
	return fmt.Sprintf(`stroke="%s" stroke-width="%s" stroke-dasharray="%s" fill="none"`, l.Color, l.Width, l.Dashes)
}

// point is a scenario, and its number.
type point struct {
	At float64
	In string
}

// The place of the curves in the picture. Other numbers from here on are places, too.
const (
	left, right, top, bottom = 56.0, 460.0, 40.0, 290.0
)

// darkTheme has the colors that take the place of those of lines, letters and grounds.
const darkTheme = `<style>@media (prefers-color-scheme: dark){
  [fill="#ffffff"]{fill:#0d1117} [fill="#f6f8fa"]{fill:#161b22} [fill="#1f2328"]{fill:#e6edf3} [fill="#57606a"]{fill:#9198a1}
  [stroke="#d0d7de"]{stroke:#3d444d} [stroke="#8c959f"]{stroke:#9198a1} [stroke="#cf222e"]{stroke:#ff7b72}
  [stroke="#1a7f37"]{stroke:#3fb950} [stroke="#0969da"]{stroke:#58a6ff} [stroke="#8250df"]{stroke:#bc8cff} ` +
	`[stroke="#1f2328"]{stroke:#e6edf3}
}</style>`

const pictureHead = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 340" ` +
	`font-family="Arial, Helvetica, 'Liberation Sans', sans-serif" font-size="13" role="img" aria-labelledby="title">
<title id="title">%s</title>
` + darkTheme + `
<rect width="760" height="340" fill="#ffffff"/>
<text x="16" y="22" fill="#1f2328" font-weight="600">%s</text>
`

// text returns the picture as SVG.
func (pic picture) text(p plan, all measured) string {
	var svg strings.Builder
	put := func(format string, values ...any) { fmt.Fprintf(&svg, format+"\n", values...) }
	fmt.Fprintf(&svg, pictureHead, html.EscapeString(pic.Title), html.EscapeString(pic.Y))
	for percent := 0.0; percent <= 100; percent += 25 {
		put(`<path d="M%.0f %.1fH%.0f" stroke="#d0d7de"/>`, left, y(percent), right)
		put(`<text x="%.0f" y="%.1f" fill="#57606a" text-anchor="end">%.0f</text>`, left-8, y(percent)+4, percent)
	}
	free := 0.0 // from here on there is place for a label
	for _, at := range pic.Points {
		if x := pic.x(at.At); x >= free {
			put(`<text x="%.1f" y="%.0f" fill="#57606a" text-anchor="middle">%g</text>`, x, bottom+20, at.At)
			free = x + 24
		}
	}
	put(`<text x="%.0f" y="%.0f" fill="#57606a" text-anchor="middle">%s</text>`, (left+right)/2, bottom+40, html.EscapeString(pic.X))
	for i, l := range pic.Lines {
		stroke := l.stroke()
		var places []string
		for _, at := range pic.Points {
			places = append(places, fmt.Sprintf("%.1f %.1f", pic.x(at.At), y(all[key{at.In, l.Arm}][pic.Of])))
		}
		put(`<path d="M%s" %s/>`, strings.Join(places, "L"), stroke)
		place := top + 20 + 28*float64(i)
		put(`<path d="M%.0f %.0fH%.0f" %s/>`, right+16, place, right+56, stroke)
		put(`<text x="%.0f" y="%.0f" fill="#1f2328">%s</text>`, right+64, place+4, html.EscapeString(p.Arms[l.Arm].Name))
	}
	return svg.String() + "</svg>\n"
}

// x returns the place of a number, on a logarithmic scale from the first point to the last.
func (pic picture) x(number float64) float64 {
	first, last := pic.Points[0].At, pic.Points[len(pic.Points)-1].At
	return left + (right-left)*math.Log(number/first)/math.Log(last/first)
}

func y(percent float64) float64 { return bottom - (bottom-top)*percent/100 }

// draw writes all pictures.
func (p plan) draw(root string, all measured) error {
	for _, pic := range p.Pictures {
		if err := os.WriteFile(filepath.Join(root, pic.File), []byte(pic.text(p, all)), 0o644); err != nil { //nolint:gosec // for everybody
			return err
		}
	}
	return nil
}
