package throttle

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTable(t *testing.T) {
	var rows table
	require.NoError(t, rows.add([]byte("BenchmarkA/bucket 10 2.5 ns/op 0 allocs/op\nBenchmarkA/bucket-16 10 3 ns/op 0 allocs/op\n")))
	require.NoError(t, rows.add([]byte("BenchmarkA/bucket-16 10 4 ns/op 0 allocs/op\n")))
	assert.Equal(t, table{
		{"A", "bucket", 1, map[string][]float64{"ns/op": {2.5}, "allocs/op": {0}}},
		{"A", "bucket", 16, map[string][]float64{"ns/op": {3, 4}, "allocs/op": {0, 0}}},
	}, rows)

	assert.ErrorContains(t, rows.add([]byte("BenchmarkA 10 4 ns/op\n")), `unknown benchmark "A"`)
	assert.ErrorContains(t, rows.add([]byte("FAIL\n")), "no benchmark result")
}
