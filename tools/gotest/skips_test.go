package gotest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReadSkips(t *testing.T) {
	const entry = "- {reason: it changed, successor: q TestB, package: p, tests: [TestA, TestC/d]}\n"
	for text, problem := range map[string]string{
		entry:                         "",
		entry + entry:                 "p TestA is listed twice",
		"- {reason: r, package: p}":   "entry 1 needs reason, successor, package and tests",
		"- {reason: r, test: T}":      "field test not found",
		"suite upstream\npackage p\n": "cannot unmarshal",
	} {
		file := filepath.Join(t.TempDir(), "skips")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		skips, err := ReadSkips(file)
		if problem == "" {
			require.NoError(t, err)
			assert.Equal(t, []Skip{{"p", "TestA", "it changed", "q TestB"}, {"p", "TestC/d", "it changed", "q TestB"}}, skips)
			continue
		}
		assert.ErrorContains(t, err, problem)
		assert.ErrorContains(t, err, file)
	}
	none, err := ReadSkips(filepath.Join(t.TempDir(), "skips"))
	assert.NoError(t, err)
	assert.Empty(t, none)
}
