package chart

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/vg"
)

func TestSave(t *testing.T) {
	c := Chart{
		X: "load", Y: "share", LogX: true, TicksX: []float64{1, 2.5, 10}, Shade: [2]float64{2, 3},
		Lines: []Line{
			{Name: "no retry", Points: []Point{{1, 0.5}, {10, 1}}}, {Name: "dashed", Dashed: true, Points: []Point{{1, 1}, {10, 1}}},
		},
	}
	folder := t.TempDir()
	require.NoError(t, c.Save(folder, "a"))
	svg, err := os.ReadFile(filepath.Join(folder, "a.svg"))
	require.NoError(t, err)
	for _, text := range []string{"load", "share", "no retry", "dashed", "2.5"} {
		assert.Contains(t, string(svg), ">"+text+"<")
	}
	assert.NotContains(t, string(svg), "Serif")
	assert.NotContains(t, string(svg), "font-family:Liberation Sans;", "with no other font to take its place")

	// The lines end at the same height, but their names must not.
	var heights []float64
	for _, name := range regexp.MustCompile(`y="-([0-9.]+)"[^>]*>(?:no retry|dashed)<`).FindAllStringSubmatch(string(svg), -1) {
		height, err := strconv.ParseFloat(name[1], 64)
		require.NoError(t, err)
		heights = append(heights, height)
	}
	require.Len(t, heights, 2)
	assert.Greater(t, math.Abs(heights[0]-heights[1]), 8.0)
}

func TestSpreadOut(t *testing.T) {
	for name, tt := range map[string]struct{ heights, want []vg.Length }{
		"nothing":        {nil, nil},
		"far enough":     {[]vg.Length{10, 20, 40}, []vg.Length{10, 20, 40}},
		"together":       {[]vg.Length{50, 50, 50}, []vg.Length{40, 50, 60}},
		"pushes another": {[]vg.Length{30, 44, 46}, []vg.Length{30, 40, 50}},
		"at the bottom":  {[]vg.Length{0, 1}, []vg.Length{0, 10}},
		"at the top":     {[]vg.Length{99, 100}, []vg.Length{90, 100}},
	} {
		spreadOut(tt.heights, 10, 0, 100)
		assert.Equal(t, tt.want, tt.heights, name)
	}
}

func TestSaveNothing(t *testing.T) {
	folder := t.TempDir()
	assert.ErrorContains(t, Chart{}.Save(folder, "empty"), "chart empty: there is no line to draw")
	assert.ErrorContains(t, Chart{Lines: []Line{{Name: "nothing"}}}.Save(folder, "empty"), `line "nothing" has no points`)
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	assert.Empty(t, entries)
}
