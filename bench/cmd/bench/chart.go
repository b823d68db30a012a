package main

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// chart is a chart of lines, one for each driver. The Y axis starts at zero.
type chart struct {
	name, x, y string
	// ticks are the values at the X axis, which is logarithmic; none leaves them to the library, with a linear axis.
	ticks []float64
	lines []line
	shade [2]float64 // a part of the X axis to set off
}

type line struct {
	arm    arm
	points plotter.XYs
}

// The size of a chart, which fits the width of a page, and of the part for the lines' names: the longest, in a font that is 15 %
// wider than the one by which the library places text.
const (
	width, height = 24 * vg.Centimeter, 10 * vg.Centimeter
	names         = 8.4 * vg.Centimeter
	margin        = 6 // points
	fontSize      = 11
)

// save writes the chart to a folder.
func (c chart) save(folder string) error {
	svg, err := c.svg()
	if err != nil {
		return fmt.Errorf("chart %s: %w", c.name, err)
	}
	return os.WriteFile(filepath.Join(folder, c.name+".svg"), svg, 0o644) //nolint:gosec // a picture that everybody may see
}

func (c chart) svg() ([]byte, error) {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text, p.Y.Min = c.x, c.y, 0
	sans := font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(fontSize)}
	p.X.Label.TextStyle.Font, p.Y.Label.TextStyle.Font, p.X.Tick.Label.Font, p.Y.Tick.Label.Font = sans, sans, sans, sans
	legend := plot.NewLegend()
	legend.Top, legend.Left, legend.TextStyle.Font, legend.YPosition = true, true, sans, draw.PosCenter
	legend.Padding, legend.ThumbnailWidth = vg.Points(margin), vg.Points(3*margin)
	if c.ticks != nil {
		p.X.Tick.Marker = c.logTicks()
	}
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{0xCC}, color.Gray{0xCC}
	p.Add(grid)
	for _, l := range c.lines {
		drawn, err := c.line(l)
		if err != nil {
			return nil, err
		}
		p.Add(drawn)
		legend.Add(l.arm.name, drawn)
	}
	p.Y.Max *= 1.05
	if err := c.addShade(p); err != nil {
		return nil, err
	}
	svg := vgsvg.New(width, height)
	whole := draw.New(svg)
	whole.SetColor(color.White)
	whole.Fill(whole.Rectangle.Path())
	p.Draw(draw.Crop(whole, margin, -names, margin, -margin))
	legend.Draw(draw.Crop(whole, width-names+2*margin, 0, 0, -margin))
	var content bytes.Buffer
	if _, err := svg.WriteTo(&content); err != nil {
		return nil, err
	}
	// The first font is as wide as the one by which the text was placed, but few readers have it.
	return bytes.ReplaceAll(content.Bytes(), []byte("Liberation Sans"), []byte("Liberation Sans,Arial,Helvetica,sans-serif")), nil
}

func (c chart) line(l line) (*plotter.Line, error) {
	points := make(plotter.XYs, len(l.points))
	for i, point := range l.points {
		points[i] = plotter.XY{X: c.at(point.X), Y: point.Y}
	}
	drawn, err := plotter.NewLine(points)
	if err != nil {
		return nil, fmt.Errorf("line %q: %w", l.arm.name, err)
	}
	drawn.Color, drawn.Width = l.arm.colour, vg.Points(1.8)
	if l.arm.dashed {
		drawn.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
	}
	return drawn, nil
}

// at returns the position of a value on the X axis.
func (c chart) at(x float64) float64 {
	if c.ticks != nil {
		return math.Log(x)
	}
	return x
}

func (c chart) logTicks() plot.ConstantTicks {
	ticks := make(plot.ConstantTicks, len(c.ticks))
	for i, x := range c.ticks {
		ticks[i] = plot.Tick{Value: c.at(x), Label: strconv.FormatFloat(x, 'f', -1, 64)}
	}
	return ticks
}

// addShade needs the axes, which the lines have set.
func (c chart) addShade(p *plot.Plot) error {
	from, to := c.shade[0], c.shade[1]
	if from == to {
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
