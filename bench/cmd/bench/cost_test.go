package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCosts writes the page's tables from the output of the benchmarks that they name.
func TestCosts(t *testing.T) {
	p, _ := everything(t)
	root := t.TempDir()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", costPage))
	require.NoError(t, err)
	page := filepath.Join(root, costPage)
	require.NoError(t, os.MkdirAll(filepath.Dir(page), 0o755))
	require.NoError(t, os.WriteFile(page, content, 0o600))
	for _, base := range []string{"v2.5.0", "v2.10.0"} {
		folder := filepath.Join(root, "build", "cost", base)
		require.NoError(t, os.MkdirAll(folder, 0o755))
		for driver, rounds := range map[string][]string{
			"upstream": {"1000 cpu-ns/op 12128 B/op 90 allocs/op", "2000 cpu-ns/op 12130 B/op 92 allocs/op"},
			"fork":     {"600 cpu-ns/op 5586 B/op 56 allocs/op", "1000 cpu-ns/op 5586 B/op 56 allocs/op"},
		} {
			var output strings.Builder
			for _, figures := range rounds {
				for _, row := range p.Costs {
					output.WriteString("Benchmark" + row.Of + "-2 \t 100\t 12.5 ns/op\t " + figures + "\n")
				}
			}
			require.NoError(t, os.WriteFile(filepath.Join(folder, driver+".txt"), []byte(output.String()), 0o600))
		}
	}
	require.NoError(t, p.writeCosts(root, "v2.5.0", "v2.10.0"))
	written, err := os.ReadFile(page)
	require.NoError(t, err)
	line := "| FindOne | 91 → 56, 0.62 | 12,129 → 5,586, 0.46 | 0.55, 0.50–0.60 |\n"
	assert.Equal(t, 2, strings.Count(string(written), line))

	assert.ErrorContains(t, p.writeCosts(root, "v2.9.3"), "v2.9.3")
	require.NoError(t, os.WriteFile(filepath.Join(root, "build", "cost", "v2.5.0", "fork.txt"), nil, 0o600))
	assert.ErrorContains(t, p.writeCosts(root, "v2.5.0"), "/FindOne/cancellable ran 2 times with upstream's driver and 0 times with the fork")
}
