package fork

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/command"
	"mongofork/tools/fork/forktest"
)

// The programs that show defects of upstream compile against the releases that have them, and stay short enough for a report.
func TestDefectProgramsCompile(t *testing.T) {
	t.Parallel()
	forktest.Released(t, realBase)
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
