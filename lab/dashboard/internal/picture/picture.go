// Package picture draws what a dashboard's panels show.
package picture

import (
	"image/color"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"mongofork/lab/dashboard/internal/evaluate"
	"mongofork/lab/dashboard/internal/grafana"
)

// Sizes of the picture.
const (
	column  = 1.2 * vg.Centimeter
	row     = 1.05 * vg.Centimeter
	margin  = 0.4 * vg.Centimeter
	heading = 1.6 * vg.Centimeter
	legend  = 4.2 * vg.Centimeter
)

// palette returns one of the colours that Okabe and Ito chose to be told apart by everybody, with a grey for their black.
func palette(i int) color.NRGBA {
	colors := []color.NRGBA{
		{0x00, 0x72, 0xb2, 0xff}, {0xe6, 0x9f, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff}, {0xd5, 0x5e, 0x00, 0xff},
		{0xcc, 0x79, 0xa7, 0xff}, {0x56, 0xb4, 0xe9, 0xff}, {0x66, 0x66, 0x66, 0xff}, {0xf0, 0xe4, 0x42, 0xff},
	}
	return colors[i%len(colors)]
}

// Picture is what is drawn.
type Picture struct {
	Title, Caption string
	Panels         []evaluate.Panel
	// View is the time that the axes span, in seconds from its beginning.
	View grafana.View
}

// Write writes the picture in a format that gonum/plot has, such as "svg" or "png". Series that are zero throughout are left
// out.
func (p *Picture) Write(out io.Writer, format string) error {
	rows := 0
	for _, panel := range p.Panels {
		rows = max(rows, panel.GridPos.Y+panel.GridPos.H)
	}
	canvas, err := draw.NewFormattedCanvas(grafana.Columns*column, vg.Length(rows)*row+heading, format)
	if err != nil {
		return err
	}
	whole := draw.New(canvas)
	whole.SetColor(color.White)
	whole.Fill(whole.Rectangle.Path())
	p.writeHeading(whole)
	for _, panel := range p.Panels {
		if err := p.draw(panel, place(whole, panel.GridPos)); err != nil {
			return err
		}
	}
	_, err = canvas.WriteTo(out)
	return err
}

// writeHeading writes the title, and the caption below it.
func (p *Picture) writeHeading(c draw.Canvas) {
	style := plot.New().Title.TextStyle
	style.Font.Size, style.XAlign, style.YAlign = vg.Points(15), draw.XCenter, draw.YTop
	c.FillText(style, vg.Point{X: c.Center().X, Y: c.Max.Y - margin}, p.Title)
	style.Font.Size = vg.Points(10)
	c.FillText(style, vg.Point{X: c.Center().X, Y: c.Max.Y - heading + margin}, p.Caption)
}

// place returns the part of the canvas that a panel takes, below the heading.
func place(whole draw.Canvas, at grafana.Position) draw.Canvas {
	top := whole.Max.Y - heading
	return draw.Canvas{Canvas: whole.Canvas, Rectangle: vg.Rectangle{
		Min: vg.Point{X: vg.Length(at.X)*column + margin, Y: top - vg.Length(at.Y+at.H)*row + margin},
		Max: vg.Point{X: vg.Length(at.X+at.W)*column - margin, Y: top - vg.Length(at.Y)*row - margin},
	}}
}
