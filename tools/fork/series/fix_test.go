package series

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/command"
	"mongofork/tools/fork/forktest"
	"mongofork/tools/fork/plan"
)

// A report names a test: of the fix, which there is on one of the bases, and whose size the report says, or else of the lab.
func TestFixes(t *testing.T) {
	t.Parallel()
	root := forktest.Repository(t)
	reports, err := filepath.Glob(filepath.Join(root, "docs", "upstream-defects", "[a-z]*.md"))
	require.NoError(t, err)
	labTests, err := filepath.Glob(filepath.Join(root, "lab", "virtual", "*_test.go"))
	require.NoError(t, err)
	for _, report := range reports {
		text, err := os.ReadFile(report)
		require.NoError(t, err)
		fixes, err := filepath.Glob(filepath.Join(root, "*", strings.TrimSuffix(filepath.Base(report), ".md"), "README.md"))
		require.NoError(t, err)
		require.Equal(t, strings.Contains(string(text), "mongofork series --fixes"), len(fixes) > 0, report)
		if len(fixes) == 0 {
			shows := regexp.MustCompile("`(Test\\w+)").FindSubmatch(text)
			require.NotNil(t, shows, report)
			require.True(t, slices.ContainsFunc(labTests, func(file string) bool {
				test, err := os.ReadFile(file)
				require.NoError(t, err)
				return strings.Contains(string(test), "\nfunc "+string(shows[1])+"(")
			}), report)
		}
	}
	forktest.EachBase(t, func(t *testing.T, root string, p *plan.Plan) {
		s, err := New(root, p)
		require.NoError(t, err)
		patches, err := s.FixPatches(t.Context(), "A Tester <tester@localhost>")
		require.NoError(t, err)
		require.NotEmpty(t, patches)
		for name, patch := range patches {
			code, tests := lines(t, patch)
			require.NotContains(t, tests, "+0", name)
			report, err := os.ReadFile(filepath.Join(root, "docs", "upstream-defects", strings.TrimSuffix(name, ".patch")+".md"))
			require.NoError(t, err)
			require.Contains(t, string(report), "("+code+" lines of code)", name)
			shows := regexp.MustCompile("`(Test\\w+)`").FindSubmatch(report)
			require.NotNil(t, shows, name)
			require.Contains(t, string(patch), "\n+func "+string(shows[1])+"(", name)
		}
	})
}

// lines says how many lines a patch adds and removes, of code and of tests.
func lines(t *testing.T, patch []byte) (code, tests string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "fix.patch"), patch, 0o600))
	stat, err := command.Output(t.Context(), dir, nil, "git", "apply", "--numstat", "fix.patch")
	require.NoError(t, err)
	var added, removed [2]int
	for line := range strings.Lines(string(stat)) {
		more, less, name, of := 0, 0, "", 0
		_, err := fmt.Sscan(line, &more, &less, &name)
		require.NoError(t, err)
		if strings.HasSuffix(name, "_test.go") {
			of = 1
		}
		added[of], removed[of] = added[of]+more, removed[of]+less
	}
	return fmt.Sprintf("+%d -%d", added[0], removed[0]), fmt.Sprintf("+%d -%d", added[1], removed[1])
}
