package pages

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/plan"
)

// TestPagesCountTheReports compares the numbers of reports and of patches that the pages name with the table of reports, and that with the
// files and the layers: a layer with the name of a report is its patch.
func TestPagesCountTheReports(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(root, "docs", "upstream-defects", "[a-z]*.md"))
	require.NoError(t, err)
	layers, err := plan.ReadLayers(root)
	require.NoError(t, err)
	var listed []string
	ofNewest, patches := 0, 0
	for line := range strings.Lines(text(t, "docs/upstream-defects/README.md")) {
		cells := strings.Split(line, " | ")
		name, _, isReport := strings.Cut(strings.TrimPrefix(cells[0], "| ["), "](")
		if !isReport || !strings.HasPrefix(line, "| [") {
			continue
		}
		listed = append(listed, name+".md")
		patched := slices.ContainsFunc(layers, func(l *plan.Layer) bool { return filepath.Base(l.Name) == name })
		older, newest := cells[len(cells)-2], strings.TrimSuffix(cells[len(cells)-1], " |\n")
		assert.Equal(t, patched, older != "-" || newest != "-", "the table says %q and %q of the patches of %s", older, newest, name)
		if newest != "-" {
			patches++
		}
		if older == "-" || newest != "-" {
			ofNewest++
		}
	}
	for i, file := range files {
		files[i] = filepath.Base(file)
	}
	assert.ElementsMatch(t, files, listed)
	for page, sentence := range map[string]string{
		"README.md":        fmt.Sprintf("[%d defects](docs/upstream-defects/README.md) have a report", ofNewest),
		"docs/upstream.md": fmt.Sprintf("fixes of %d defects of v2.10.0 today", patches),
	} {
		assert.Contains(t, strings.Join(strings.Fields(text(t, page)), " "), sentence, page)
	}
	assert.Contains(t, text(t, "docs/upstream.md"), fmt.Sprintf("as have %d defects more", ofNewest-patches))
}
