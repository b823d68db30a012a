package fork

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/module"

	"mongofork/tools/fork/forktest"
	"mongofork/tools/fork/plan"
)

// What mends an advisory in the fork, and the test of that, are in the overlay of every base that is affected. A base with an open one is
// released only if the list says why. SECURITY.md has the number of advisories, in all and without a fix of upstream's on the newest base,
// and names those with a CVE.
func TestAdvisories(t *testing.T) {
	t.Parallel()
	p := &Project{Root: repositoryRoot}
	list, err := p.Advisories()
	require.NoError(t, err)
	page, err := os.ReadFile(filepath.Join(repositoryRoot, "SECURITY.md"))
	require.NoError(t, err)
	bases, err := p.Bases()
	require.NoError(t, err)
	newest, own, here := bases[len(bases)-1], 0, 0
	for _, a := range list {
		require.NotContains(t, []string{a.ID, a.Title, a.Impact, a.Fixed}, "", "advisory %s is incomplete", a.ID)
		require.NotEmpty(t, a.Affected, a.ID)
		if strings.HasPrefix(a.ID, "CVE-") || a.Dependency != nil {
			require.Contains(t, string(page), a.ID)
		}
		if a.Dependency != nil {
			require.True(t, module.Check(a.Dependency.Module, a.Dependency.Fixed) == nil && a.Dependency.Go != "", a.ID)
			continue
		}
		require.True(t, a.Affects(bases[0]) && a.Mended != nil, a.ID)
		if own++; a.Affects(newest) {
			here++
		}
	}
	require.Contains(t, string(page), fmt.Sprintf("(etc/advisories.yaml) has %d, each", own))
	require.Contains(t, string(page), fmt.Sprintf("on %s the %d that no release", newest, here))
	forktest.EachBase(t, func(t *testing.T, _ string, matched *plan.Plan) {
		ours := map[string]bool{}
		for _, touch := range matched.Touches {
			ours[touch.Key.String()] = true
		}
		for _, d := range matched.Added {
			ours[d.Key.String()] = true
		}
		for _, a := range list {
			switch base := matched.Module.Version; {
			case !a.Affects(base):
			case a.Mended == nil:
				require.NotEmpty(t, a.Accepted[base],
					"advisory %s is open: correct it in the overlay, or say why it is accepted", a.ID)
			default:
				require.NotEmpty(t, a.Mended.By, a.ID)
				require.NotEmpty(t, a.Mended.Tests, a.ID)
				for _, key := range slices.Concat(a.Mended.By, a.Mended.Tests) {
					require.True(t, ours[key], "advisory %s: the overlay neither touches nor adds %s", a.ID, key)
				}
			}
		}
	})
}
