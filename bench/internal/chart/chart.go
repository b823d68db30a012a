// Package chart draws line charts as SVG and PNG files.
package chart

import (
	"errors"
	"fmt"
	"image/color"
	"path/filepath"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// Chart is a chart of lines.
type Chart struct {
	Title, X, Y string
	// LogX is for positive values that span magnitudes.
	LogX bool
	// TicksX are the values to write at the X axis; none leaves them to the plotting library.
	TicksX []float64
	Lines  []Line
	// MaxY is the upper end of the Y axis, which starts at zero. With zero, the lines determine it.
	MaxY float64
	// Shades are parts of the X axis to set off.
	Shades [][2]float64
}

// Line is one line of a chart. Lines of the same Group have one colour.
type Line struct {
	Name   string
	Group  int
	Dashed bool
	Points []Point
}

// Point is a point of a line.
type Point struct{ X, Y float64 }

// The size of a chart, which fits the width of a page.
const (
	width  = 18 * vg.Centimeter
	height = 10 * vg.Centimeter
)

// Save writes the chart to folder/name.svg and folder/name.png. Errors name the file.
func (c Chart) Save(folder, name string) error {
	p, err := c.plot()
	if err != nil {
		return fmt.Errorf("chart %s: %w", name, err)
	}
	for _, format := range []string{".svg", ".png"} {
		if err := p.Save(width, height, filepath.Join(folder, name+format)); err != nil {
			return fmt.Errorf("chart %s%s: %w", name, format, err)
		}
	}
	return nil
}

func (c Chart) plot() (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.Title, c.X, c.Y
	p.BackgroundColor = color.White
	p.Y.Min = 0
	p.Legend.Top, p.Legend.YOffs = true, -vg.Points(2)
	p.Legend.Padding, p.Legend.ThumbnailWidth = vg.Points(3), vg.Points(24)
	if c.LogX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	if len(c.TicksX) > 0 {
		p.X.Tick.Marker = c.ticks()
	}
	p.Add(plotter.NewGrid())
	if err := c.addLines(p); err != nil {
		return nil, err
	}
	if c.MaxY > 0 {
		p.Y.Max = c.MaxY
	}
	return p, c.addShades(p)
}

func (c Chart) ticks() plot.ConstantTicks {
	ticks := make(plot.ConstantTicks, len(c.TicksX))
	for i, x := range c.TicksX {
		ticks[i] = plot.Tick{Value: x, Label: strconv.FormatFloat(x, 'g', -1, 64)}
	}
	return ticks
}

func (c Chart) addLines(p *plot.Plot) error {
	if len(c.Lines) == 0 {
		return errors.New("there is no line to draw")
	}
	for _, l := range c.Lines {
		if len(l.Points) == 0 {
			return fmt.Errorf("line %q has no points", l.Name)
		}
		points := make(plotter.XYs, len(l.Points))
		for i, point := range l.Points {
			points[i] = plotter.XY(point)
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return fmt.Errorf("line %q: %w", l.Name, err)
		}
		line.Color, line.Width = plotutil.Color(l.Group), vg.Points(1.5)
		if l.Dashed {
			line.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
		}
		p.Add(line)
		p.Legend.Add(l.Name, line)
	}
	return nil
}

// addShades needs the axes, which the lines have set.
func (c Chart) addShades(p *plot.Plot) error {
	for _, shade := range c.Shades {
		from, to := shade[0], shade[1]
		area, err := plotter.NewPolygon(plotter.XYs{{X: from, Y: 0}, {X: to, Y: 0}, {X: to, Y: p.Y.Max}, {X: from, Y: p.Y.Max}})
		if err != nil {
			return err
		}
		area.Color, area.LineStyle.Width = color.NRGBA{R: 200, G: 200, B: 200, A: 90}, 0
		p.Add(area)
	}
	return nil
}
