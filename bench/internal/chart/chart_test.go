package chart

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSave(t *testing.T) {
	c := Chart{
		Title: "goodput", X: "load", Y: "share", LogX: true, TicksX: []float64{1, 2.5, 10}, MaxY: 1, Shades: [][2]float64{{2, 3}, {4, 5}},
		Lines: []Line{{Name: "no retry", Points: []Point{{1, 0.5}, {10, 1}}}, {Name: "dashed", Dashed: true, Points: []Point{{1, 1}}}},
	}
	folder := t.TempDir()
	require.NoError(t, c.Save(folder, "a"))

	svg, err := os.ReadFile(filepath.Join(folder, "a.svg"))
	require.NoError(t, err)
	for _, text := range []string{"goodput", "load", "share", "no retry", "dashed", "2.5"} {
		assert.Contains(t, string(svg), ">"+text+"<")
	}
	picture, err := os.ReadFile(filepath.Join(folder, "a.png"))
	require.NoError(t, err)
	_, err = png.Decode(bytes.NewReader(picture))
	assert.NoError(t, err)
}

func TestSaveNothing(t *testing.T) {
	folder := t.TempDir()
	assert.ErrorContains(t, Chart{}.Save(folder, "empty"), "chart empty: there is no line to draw")
	assert.ErrorContains(t, Chart{Lines: []Line{{Name: "nothing"}}}.Save(folder, "empty"), `line "nothing" has no points`)
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	assert.Empty(t, entries)
}
