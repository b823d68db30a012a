package report

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/bench/internal/goodput"
	"mongofork/bench/internal/result"
)

func TestUpdateReadme(t *testing.T) {
	file := filepath.Join(t.TempDir(), "README.md")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }

	write("before\n" + string(summaryBegin) + "old\n" + string(summaryEnd) + "after\n")
	require.NoError(t, updateReadme(file, &goodput.Results{}))
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Regexp(t, `(?s)^before\n.*times the capacity.*after\n$`, string(got))
	assert.NotContains(t, string(got), "old")

	write("nothing\n")
	assert.ErrorContains(t, updateReadme(file, &goodput.Results{}), "there is no summary to write")
	got, err = os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "nothing\n", string(got))
}

// The README says what the results say.
func TestReadmeIsUpToDate(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	results, err := result.Read[*goodput.Results](filepath.Join(root, "docs", "performance", GoodputFile))
	require.NoError(t, err)
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	assert.Contains(t, string(readme), summary(results.Results), "run: make bench-report")
}
