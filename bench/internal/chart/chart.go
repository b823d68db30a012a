// Package chart draws line charts as SVG files. Each line has its name at its end.
package chart

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Chart is a chart of lines. The Y axis starts at zero.
type Chart struct {
	X, Y string
	// LogX is for positive values that span magnitudes; it needs TicksX.
	LogX bool
	// TicksX are the values to write at the X axis; none leaves them to the plotting library.
	TicksX []float64
	Lines  []Line
	// Shade is a part of the X axis to set off.
	Shade [2]float64
}

// Line is one line of a chart.
type Line struct {
	Name   string
	Dashed bool
	Points []Point
}

// Point is a point of a line.
type Point struct{ X, Y float64 }

// The size of a chart, which fits the width of a page.
const (
	width  = 22 * vg.Centimeter
	height = 10 * vg.Centimeter
	margin = 6 // points
)

// colours returns the lines' colours: dark enough on white, and distinct for the colour-blind (Okabe and Ito).
func colours() []color.RGBA {
	return []color.RGBA{
		{0x00, 0x72, 0xB2, 0xFF}, {0xD5, 0x5E, 0x00, 0xFF}, {0x00, 0x9E, 0x73, 0xFF}, {0xB0, 0x50, 0x8A, 0xFF},
		{0x00, 0x00, 0x00, 0xFF}, {0xB8, 0x7A, 0x00, 0xFF}, {0x3A, 0x8F, 0xC4, 0xFF},
	}
}

// Save writes the chart to folder/name.svg. Errors name the file.
func (c Chart) Save(folder, name string) error {
	svg, err := c.svg()
	if err != nil {
		return fmt.Errorf("chart %s: %w", name, err)
	}
	return os.WriteFile(filepath.Join(folder, name+".svg"), svg, 0o644)
}

func (c Chart) svg() ([]byte, error) {
	p, err := c.plot()
	if err != nil {
		return nil, err
	}
	svg := vgsvg.New(width, height)
	whole := draw.New(svg)
	whole.SetColor(color.White)
	whole.Fill(whole.Rectangle.Path())
	names := textStyle(p, 11)
	var widest vg.Length
	for _, l := range c.Lines {
		widest = max(widest, names.Width(l.Name))
	}
	left := draw.Crop(whole, margin, -widest-4*margin, margin, -margin)
	p.Draw(left)
	c.drawNames(p, left, names)
	var content bytes.Buffer
	if _, err := svg.WriteTo(&content); err != nil {
		return nil, err
	}
	// These fonts are as wide as the one by which the text was placed, which few readers have.
	return bytes.ReplaceAll(content.Bytes(), []byte("Liberation Sans"), []byte("Liberation Sans,Arial,Helvetica,sans-serif")), nil
}

// textStyle returns a style of text without serifs.
func textStyle(p *plot.Plot, size float64) text.Style {
	style := p.X.Label.TextStyle
	style.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(size)}
	style.XAlign, style.YAlign = draw.XLeft, draw.YCenter
	return style
}

func (c Chart) plot() (*plot.Plot, error) {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = c.X, c.Y
	p.Y.Min = 0
	sans := textStyle(p, 11).Font
	for _, style := range []*text.Style{&p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label} {
		style.Font = sans
	}
	p.X.Tick.Marker = plot.TickerFunc(shortTicks)
	if len(c.TicksX) > 0 {
		p.X.Tick.Marker = c.ticks()
	}
	p.Y.Tick.Marker = plot.TickerFunc(shortTicks)
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{0xCC}, color.Gray{0xCC}
	p.Add(grid)
	return p, c.addLines(p)
}

func (c Chart) ticks() plot.ConstantTicks {
	ticks := make(plot.ConstantTicks, len(c.TicksX))
	for i, x := range c.TicksX {
		ticks[i] = plot.Tick{Value: c.scale(x), Label: strconv.FormatFloat(x, 'f', -1, 64)}
	}
	return ticks
}

// scale returns the position of a value on the X axis. The plotting library has such a scale, too, but then reserves room for the
// axis' label as if it were at the arithmetic middle.
func (c Chart) scale(x float64) float64 {
	if c.LogX {
		return math.Log(x)
	}
	return x
}

// shortTicks are the plotting library's, without zeros at the ends of their labels.
func shortTicks(low, high float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(low, high)
	for i, tick := range ticks {
		if !tick.IsMinor() {
			ticks[i].Label = strconv.FormatFloat(tick.Value, 'g', 4, 64)
		}
	}
	return ticks
}

func (c Chart) addLines(p *plot.Plot) error {
	if len(c.Lines) == 0 {
		return errors.New("there is no line to draw")
	}
	highest := 0.0
	for i, l := range c.Lines {
		if len(l.Points) == 0 {
			return fmt.Errorf("line %q has no points", l.Name)
		}
		points := make(plotter.XYs, len(l.Points))
		for j, point := range l.Points {
			points[j] = plotter.XY{X: c.scale(point.X), Y: point.Y}
			highest = max(highest, point.Y)
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return fmt.Errorf("line %q: %w", l.Name, err)
		}
		line.Color, line.Width = colours()[i%len(colours())], vg.Points(1.8)
		if l.Dashed {
			line.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
		}
		p.Add(line)
	}
	p.Y.Max = highest * 1.05
	return c.addShade(p)
}

// addShade needs the axes, which the lines have set.
func (c Chart) addShade(p *plot.Plot) error {
	from, to := c.scale(c.Shade[0]), c.scale(c.Shade[1])
	if c.Shade[0] == c.Shade[1] {
		return nil
	}
	area, err := plotter.NewPolygon(plotter.XYs{{X: from, Y: 0}, {X: to, Y: 0}, {X: to, Y: p.Y.Max}, {X: from, Y: p.Y.Max}})
	if err != nil {
		return err
	}
	area.Color, area.LineStyle.Width = color.NRGBA{R: 120, G: 120, B: 120, A: 40}, 0
	p.Add(area)
	return nil
}

// drawNames writes the name of each line beside its end, in its colour, at least a line of text apart.
func (c Chart) drawNames(p *plot.Plot, left draw.Canvas, style text.Style) {
	area := p.DataCanvas(left)
	x, y := p.Transforms(&area)
	order := make([]int, len(c.Lines))
	ends := make([]vg.Point, len(c.Lines))
	for i, l := range c.Lines {
		last := l.Points[len(l.Points)-1]
		order[i], ends[i] = i, vg.Point{X: x(c.scale(last.X)), Y: y(last.Y)}
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(1000 * (ends[a].Y - ends[b].Y)) })
	heights := make([]vg.Length, len(order))
	for i, line := range order {
		heights[i] = ends[line].Y
	}
	spreadOut(heights, style.Font.Size*1.25, area.Min.Y, area.Max.Y)
	for i, line := range order {
		style.Color = colours()[line%len(colours())]
		at := vg.Point{X: left.Max.X + 2*margin, Y: heights[i]}
		pointer := draw.LineStyle{Color: style.Color, Width: vg.Points(0.6)}
		left.StrokeLines(pointer, []vg.Point{{X: ends[line].X + 2, Y: ends[line].Y}, {X: at.X - 3, Y: at.Y}})
		left.FillText(style, at, c.Lines[line].Name)
	}
}

// spreadOut moves ascending heights apart, as little as it can and within bounds: those that are too close are spread about their
// middle, which may bring them too close to the next.
func spreadOut(heights []vg.Length, least, low, high vg.Length) {
	type block struct{ first, n int }
	var blocks []block
	bottom := func(b block) vg.Length {
		var sum vg.Length
		for _, h := range heights[b.first : b.first+b.n] {
			sum += h
		}
		extent := least * vg.Length(b.n-1)
		return max(low, min(sum/vg.Length(b.n)-extent/2, high-extent))
	}
	for i := range heights {
		blocks = append(blocks, block{i, 1})
		for n := len(blocks); n > 1; n = len(blocks) {
			below, above := blocks[n-2], blocks[n-1]
			if bottom(below)+least*vg.Length(below.n) <= bottom(above) {
				break
			}
			blocks = append(blocks[:n-2], block{below.first, below.n + above.n})
		}
	}
	for _, b := range blocks {
		at := bottom(b)
		for i := range b.n {
			heights[b.first+i] = at + least*vg.Length(i)
		}
	}
}
