package fork

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/command"
	"mongofork/tools/fork/forktest"
)

// The program shows what each report tells, and compiles against the releases that have the defects.
func TestDefects(t *testing.T) {
	t.Parallel()
	forktest.Released(t, realBase)
	dir := filepath.Join(repositoryRoot, "docs", "upstream-defects")
	program, err := os.ReadFile(filepath.Join(dir, "main.go"))
	require.NoError(t, err)
	reports, err := filepath.Glob(filepath.Join(dir, "[a-z]*.md"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(reports), 7)
	for _, report := range reports {
		name := strings.TrimSuffix(filepath.Base(report), ".md")
		require.Contains(t, string(program), fmt.Sprintf("%q: %s,", name, name))
	}
	for _, module := range []string{"go.mod", "v2.5.0.mod"} {
		environment := []string{"GOFLAGS=-mod=readonly", "GOWORK=off"}
		_, err := command.Output(t.Context(), dir, environment, "go", "vet", "-modfile="+module, ".")
		require.NoError(t, err)
	}
}
