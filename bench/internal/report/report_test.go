package report

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/bench/internal/goodput"
	"mongofork/bench/internal/result"
	"mongofork/bench/internal/study"
)

// The committed tables say what the committed results say, every table is on a page, and every plot is shown.
func TestPagesAreUpToDate(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	all, err := readAll(filepath.Join(root, "docs", "performance"))
	require.NoError(t, err)
	pages, err := pagesOf(root)
	require.NoError(t, err)
	shown := ""
	for _, page := range pages {
		now, err := os.ReadFile(page)
		require.NoError(t, err)
		want, err := refresh(page, all.tables)
		require.NoError(t, err)
		assert.True(t, want == string(now), "%s is not as the results: run make bench-report", page)
		shown += string(now)
	}
	for _, name := range slices.Sorted(maps.Keys(all.tables)) {
		assert.Contains(t, shown, begin+name+beginEnd)
	}
	for name := range all.charts {
		assert.Contains(t, shown, "performance/"+name+".svg)")
		assert.FileExists(t, filepath.Join(root, "docs", "performance", name+".svg"))
	}
	pictures, err := filepath.Glob(filepath.Join(root, "docs", "performance", "*.svg"))
	require.NoError(t, err)
	assert.Len(t, pictures, len(all.charts), "a picture that nothing draws")
}

// write lays out pages below a new root.
func write(t *testing.T, readme, page string) string {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "docs", "performance"), 0o700))
	for name, text := range map[string]string{"README.md": readme, filepath.Join("docs", "performance.md"): page} {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	return root
}

func TestWrite(t *testing.T) {
	const text = "before\n" + begin + "goodput spike" + beginEnd + "old\n" + end + "after\n" + begin + "conditions" + beginEnd + end
	root := write(t, text, text)
	file := result.File[*goodput.Results]{Command: "make it", Setting: &result.Setting{Load: "0.5", Processors: 2}, Results: fakeResults()}
	require.NoError(t, file.Write(filepath.Join(root, "docs", "performance", GoodputFile)))
	require.NoError(t, Write(root))
	for _, page := range []string{"README.md", filepath.Join("docs", "performance.md")} {
		content, err := os.ReadFile(filepath.Join(root, page))
		require.NoError(t, err)
		assert.Regexp(t, `(?s)^before\n<!-- .*spike -->\n\| driver .*\| fork .*<!-- end -->\nafter\n<!-- .*make it.*<!-- end -->\n$`, string(content))
		assert.NotContains(t, string(content), "old")
	}
	assert.FileExists(t, filepath.Join(root, "docs", "performance", "spike.svg"))
	assert.NoFileExists(t, filepath.Join(root, "docs", "performance", "fleet.svg"), "nothing was simulated")
}

func TestWriteNothing(t *testing.T) {
	good := begin + "conditions" + beginEnd + "old\n" + end
	for want, bad := range map[string]string{
		`there is no table "size", or its benchmark was not run; there are: conditions, goals cost`: begin + "size" + beginEnd + end,
		`ends with the line "<!-- end -->"; this one does not: "conditions"`:                        begin + "conditions" + beginEnd,
		`a table begins with the line "<!-- make bench-report: NAME -->" and`:                       begin + "conditions" + beginEnd + good,
		`this one does not: "conditions <!-- end`:                                                   begin + "conditions " + end,
	} {
		root := write(t, good, bad)
		assert.ErrorContains(t, Write(root), want)
		readme, err := os.ReadFile(filepath.Join(root, "README.md"))
		require.NoError(t, err)
		assert.Equal(t, good, string(readme))
	}
	root := write(t, good, good)
	require.NoError(t, os.WriteFile(filepath.Join(root, "docs", "performance", SizeFile), []byte("["), 0o600))
	assert.ErrorContains(t, Write(root), SizeFile)
	require.NoError(t, os.Remove(filepath.Join(root, "docs", "performance.md")))
	assert.Error(t, Write(root))
}

func TestTableOf(t *testing.T) {
	type run struct {
		kind, arm string
		value     float64
	}
	columns := []column[run]{
		label("kind", func(r run) string { return r.kind }), label("arm", func(r run) string { return r.arm }),
		number("value", "%.1f", func(r run) float64 { return r.value }),
		{name: "empty", cell: func([]run) string { return "" }},
	}
	of := func(runs ...run) []string { return lines(tableOf(runs, columns...)) }
	assert.Equal(t, []string{"| arm | value |", "| --- | --- |", "| a | 2.0 (1.0 to 6.0) |", "| b | 4.0 |"},
		of(run{"k", "a", 1}, run{"k", "b", 4}, run{"k", "a", 6}, run{"k", "a", 2}))
	assert.Equal(t, []string{"| kind | arm | value |", "| --- | --- | --- |", "| k | a | 1.0 |"}, of(run{"k", "a", 1}))
	assert.Len(t, of(), 2, "nothing but a header")
}

func lines(t table.Writer) []string { return strings.Split(t.RenderMarkdown(), "\n") }

// Small simulations give tables without gaps.
func TestSimulations(t *testing.T) {
	simulation, err := study.Run(context.Background(), study.Brief, nil)
	require.NoError(t, err)
	throttling, err := study.RunThrottling(context.Background(), study.Brief, nil)
	require.NoError(t, err)
	folder := t.TempDir()
	require.NoError(t, result.File[*study.Study]{Results: simulation}.Write(filepath.Join(folder, SimulationFile)))
	require.NoError(t, result.File[*study.Throttling]{Results: throttling}.Write(filepath.Join(folder, ThrottlingFile)))
	all, err := readAll(folder)
	require.NoError(t, err)
	for name, table := range all.tables {
		if name != "goals cost" && name != "conditions" {
			assert.Greater(t, len(lines(table)), 3, name)
			assert.NotContains(t, table.RenderMarkdown(), "NaN", name)
		}
	}
	assert.Contains(t, all.tables["throttling variants"].RenderMarkdown(), "| "+study.Default+" |")
	assert.Len(t, all.charts, 1)
}
