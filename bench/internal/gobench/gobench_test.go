package gobench

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	results, err := Parse([]byte("goos: linux\nBenchmarkA/b-2 100 1500.5 ns/op 2 allocs/op\nBenchmarkC 1 3 widgets/op\nPASS\n"))
	require.NoError(t, err)
	require.Len(t, results, 2)
	assert.Equal(t, "A/b-2", results[0].Name)
	assert.InDeltaMapValues(t, map[string]float64{"ns/op": 1500.5, "allocs/op": 2}, results[0].Values, 1e-9)
	assert.Equal(t, Result{Name: "C", Values: map[string]float64{"widgets/op": 3}}, results[1])

	_, err = Parse([]byte("FAIL\n"))
	assert.ErrorIs(t, err, errNoResult)
	assert.ErrorContains(t, err, "FAIL")
}

func TestSummarize(t *testing.T) {
	s := Summarize([]float64{5, 1, 3, 2, 4, 6, 7, 8, 9})
	assert.Equal(t, 5.0, s.Median)
	assert.Less(t, s.Low, 5.0)
	assert.Greater(t, s.High, 5.0)
}
