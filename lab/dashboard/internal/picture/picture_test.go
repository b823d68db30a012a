package picture_test

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/lab/dashboard/internal/evaluate"
	"mongofork/lab/dashboard/internal/grafana"
	"mongofork/lab/dashboard/internal/picture"
)

// example returns a picture of one panel.
func example(stacking string) *picture.Picture {
	start := time.UnixMilli(0)
	panel := &grafana.Panel{Title: "Decisions", GridPos: grafana.Position{W: 12, H: 8}}
	panel.FieldConfig.Defaults.Custom.Stacking.Mode = stacking
	points := func(values ...float64) []promql.FPoint {
		var points []promql.FPoint
		for i, value := range values {
			points = append(points, promql.FPoint{T: int64(i) * 1000, F: value})
		}
		return points
	}
	return &picture.Picture{
		Title: "Retries", Caption: "Drawn by a test.",
		View: grafana.View{From: start, To: start.Add(5 * time.Second), ScrapeInterval: time.Second},
		Panels: []evaluate.Panel{{Panel: panel, Series: []evaluate.Series{
			{Name: "first", Points: points(1, 2, math.NaN(), 2, 1)},
			{Name: "second", Points: points(0, 1, 1, 1, 0)},
			{Name: "nothing", Points: points(0, 0, 0)},
		}}},
	}
}

func draw(t *testing.T, p *picture.Picture) string {
	t.Helper()
	var svg bytes.Buffer
	require.NoError(t, p.Write(&svg, "svg"))
	return svg.String()
}

func TestWrite(t *testing.T) {
	svg := draw(t, example(""))
	for _, text := range []string{"Retries", "Drawn by a test.", "Decisions", "first", "second"} {
		assert.Contains(t, svg, ">"+text+"</text>")
	}
	assert.NotContains(t, svg, "nothing", "a series that is zero throughout is left out")
	assert.Equal(t, svg, draw(t, example("")))
}

func TestWriteStacked(t *testing.T) {
	count := func(stacking string) int { return strings.Count(draw(t, example(stacking)), "fill-opacity") }
	assert.Equal(t, count("")+3, count("normal"), "an area for each part of a series without gaps")
}

func TestWriteUnknownFormat(t *testing.T) {
	assert.ErrorContains(t, example("").Write(&bytes.Buffer{}, "bmp"), "bmp")
}
