package picture

import (
	"image/color"
	"math"
	"strconv"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"mongofork/lab/dashboard/internal/evaluate"
)

// axis returns what the vertical axis is called, by Grafana's name of a unit.
func axis(unit string) string {
	switch unit {
	case "ops", "cps":
		return "per second"
	case "s":
		return "seconds"
	default:
		return ""
	}
}

// secondTicks returns the default ticks of an axis of time, with labels that have no more decimals than they need.
func secondTicks(from, to float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(from, to)
	for i, tick := range ticks {
		if tick.Label != "" {
			ticks[i].Label = strconv.FormatFloat(tick.Value, 'g', -1, 64)
		}
	}
	return ticks
}

// draw draws a panel, with its legend to the right.
func (p *Picture) draw(panel evaluate.Panel, c draw.Canvas) error {
	diagram, names := plot.New(), plot.NewLegend()
	diagram.Title.Text, diagram.X.Label.Text = panel.Title, "seconds"
	diagram.Y.Label.Text = axis(panel.FieldConfig.Defaults.Unit)
	diagram.BackgroundColor = color.White
	names.Top, names.Left, names.ThumbnailWidth, names.Padding = true, true, vg.Points(14), vg.Points(3)
	names.TextStyle.Font.Size = vg.Points(10)
	diagram.X.Tick.Marker = plot.TickerFunc(secondTicks)
	diagram.Add(plotter.NewGrid())

	below, drawn := map[int64]float64{}, 0
	for _, series := range panel.Series {
		if !series.Filled() {
			continue
		}
		parts := p.parts(series, below)
		if !panel.Stacked() {
			clear(below)
		}
		line, err := addParts(diagram, parts, palette(drawn), panel.Stacked())
		if err != nil {
			return err
		}
		names.Add(series.Name, line)
		drawn++
	}
	diagram.X.Min, diagram.X.Max = 0, p.View.To.Sub(p.View.From).Round(time.Second).Seconds()
	if low := panel.FieldConfig.Defaults.Min; low != nil {
		diagram.Y.Min = *low
	}
	if high := panel.FieldConfig.Defaults.Max; high != nil {
		diagram.Y.Max = *high
	}
	diagram.Draw(draw.Crop(c, 0, -legend, 0, 0))
	names.Draw(draw.Crop(c, c.Size().X-legend+margin, 0, 0, -margin))
	return nil
}

// part is a part of a series without gaps: its points, and those below them on which it stands.
type part struct{ upper, lower plotter.XYs }

// parts divides a series where it has no values, and adds it to what is below the next one.
func (p *Picture) parts(series evaluate.Series, below map[int64]float64) []part {
	parts := []part{{}}
	for i, point := range series.Points {
		gap := i > 0 && point.T-series.Points[i-1].T > p.View.Interval().Milliseconds()
		if current := len(parts) - 1; len(parts[current].upper) > 0 && (gap || math.IsNaN(point.F)) {
			parts = append(parts, part{})
		}
		if math.IsNaN(point.F) {
			continue
		}
		current := &parts[len(parts)-1]
		x := float64(point.T-p.View.From.UnixMilli()) / 1000
		current.lower = append(current.lower, plotter.XY{X: x, Y: below[point.T]})
		below[point.T] += point.F
		current.upper = append(current.upper, plotter.XY{X: x, Y: below[point.T]})
	}
	return parts
}

// addParts adds the parts of a series as lines, with the areas below them where series are stacked. It returns the line for
// the legend.
func addParts(diagram *plot.Plot, parts []part, c color.NRGBA, stacked bool) (legend *plotter.Line, err error) {
	width := vg.Points(1.5)
	if stacked {
		width = vg.Points(0.7) // where a series adds nothing, its line is that of the series below
	}
	for _, part := range parts {
		if len(part.upper) == 0 {
			continue
		}
		if stacked {
			area, err := plotter.NewPolygon(part.outline())
			if err != nil {
				return nil, err
			}
			area.Color, area.LineStyle.Width = color.NRGBA{R: c.R, G: c.G, B: c.B, A: 0x60}, 0
			diagram.Add(area)
		}
		if legend, err = plotter.NewLine(part.upper); err != nil {
			return nil, err
		}
		legend.Color, legend.Width = c, width
		diagram.Add(legend)
	}
	return legend, nil
}

func (p part) outline() plotter.XYs {
	outline := append(plotter.XYs{}, p.upper...)
	for i := len(p.lower) - 1; i >= 0; i-- {
		outline = append(outline, p.lower[i])
	}
	return outline
}
