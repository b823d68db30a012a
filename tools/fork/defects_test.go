package fork

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/command"
	"mongofork/tools/fork/series"
)

// The programs that show defects of upstream compile against the releases that have them, and stay short enough for a report.
func TestDefectProgramsCompile(t *testing.T) {
	t.Parallel()
	realModule(t)
	dir := filepath.Join(repositoryRoot, "docs", "upstream-defects")
	programs, err := filepath.Glob(filepath.Join(dir, "*", "main.go"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(programs), 7)
	for _, program := range programs {
		text, err := os.ReadFile(program)
		require.NoError(t, err)
		require.LessOrEqual(t, bytes.Count(text, []byte("\n")), 60, program)
		require.FileExists(t, filepath.Join(filepath.Dir(program), "README.md"))
	}
	for _, args := range [][]string{{"vet", "./..."}, {"vet", "-modfile=v2.5.0.mod", "./nilerror", "./searchindex", "./pool"}} {
		_, err := command.Output(t.Context(), dir, []string{"GOFLAGS=-mod=readonly", "GOWORK=off"}, "go", args...)
		require.NoError(t, err)
	}
}

// namedCommit matches a commit of the series in a report.
var namedCommit = regexp.MustCompile(`commits?\s+"([^"]+)"`)

// The reports name commits of the series by the titles that they have.
func TestDefectReportsNameCommits(t *testing.T) {
	t.Parallel()
	steps, _, err := series.ReadSteps(repositoryRoot)
	require.NoError(t, err)
	var titles []string
	for _, step := range steps {
		titles = append(titles, step.Title)
	}
	reports, err := filepath.Glob(filepath.Join(repositoryRoot, "docs", "upstream-defects", "*", "README.md"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(reports), 9)
	for _, report := range reports {
		text, err := os.ReadFile(report)
		require.NoError(t, err)
		named := namedCommit.FindAllSubmatch(text, -1)
		require.NotEmpty(t, named, "%s says which commit mends the defect", report)
		for _, match := range named {
			require.Contains(t, titles, string(match[1]), report)
		}
	}
}
