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
		fixes, err := filepath.Glob(filepath.Join(root, "layers", "*", strings.TrimSuffix(filepath.Base(report), ".md"), "README.md"))
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
			added, removed := 0, 0
			for _, file := range strings.Split(string(patch), "\ndiff --git ")[1:] {
				if header, hunks, _ := strings.Cut(file, "\n@@"); !strings.Contains(header, "_test.go\n") {
					added, removed = added+strings.Count(hunks, "\n+"), removed+strings.Count(hunks, "\n-")
				}
			}
			report, err := os.ReadFile(filepath.Join(root, "docs", "upstream-defects", strings.TrimSuffix(name, ".patch")+".md"))
			require.NoError(t, err)
			require.Contains(t, string(report), fmt.Sprintf("(+%d -%d lines of code)", added, removed), name)
			shows := regexp.MustCompile("`(Test\\w+)`").FindSubmatch(report)
			require.NotNil(t, shows, name)
			require.Contains(t, string(patch), "\n+func "+string(shows[1])+"(", name)
		}
	})
}
