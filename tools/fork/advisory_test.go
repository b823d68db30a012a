package fork

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/advisory"
)

// The page has the number of advisories, in all and without a fix of upstream's on the newest base, and names those with a CVE.
func TestSecurityPage(t *testing.T) {
	t.Parallel()
	list, err := advisory.Read(repositoryRoot)
	require.NoError(t, err)
	page, err := os.ReadFile(filepath.Join(repositoryRoot, "SECURITY.md"))
	require.NoError(t, err)
	bases, err := (&Project{Root: repositoryRoot}).Bases()
	require.NoError(t, err)
	newest, here := bases[len(bases)-1], 0
	for _, a := range list {
		require.Equal(t, advisory.MendedHere, a.State(bases[0]), a.ID)
		if a.State(newest) == advisory.MendedHere {
			here++
		}
		if strings.HasPrefix(a.ID, "CVE-") {
			require.Contains(t, string(page), a.ID)
		}
	}
	require.Contains(t, string(page), fmt.Sprintf("(etc/advisories.yaml) has %d, each", len(list)))
	require.Contains(t, string(page), fmt.Sprintf("on %s the %d that no release", newest, here))
}
