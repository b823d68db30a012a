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

// advisoryOf returns an entry of a list of advisories.
func advisoryOf(id, affected, more string) string {
	return "- {id: " + id + ", title: A title, affected: [\"" + affected + "\"], impact: Somebody reads all., fixed: v2.0.1" +
		more + "}\n"
}

// What is listed as the fix of an advisory has to exist, on the base for which it is listed.
func TestAdvisoriesNameWhatExists(t *testing.T) {
	t.Parallel()
	files := overlayOf("func added() {}\n")
	files["pool/overlay_test.go"] = []byte("package pool\n\nimport \"testing\"\n\nfunc TestAdded(*testing.T) {}\n")
	files[advisory.File] = []byte(advisoryOf("CVE-1", "<v2.0.1", ", mended: {by: [pool added], tests: [pool TestAdded]}"))
	p := builtProject(t, files)
	require.NoError(t, build(t, p, false))
	for mended, want := range map[string]string{
		"{by: [pool added, pool gone], tests: [pool TestAdded]}": "advisory CVE-1: the overlay neither touches nor adds pool " +
			"gone on v2.0.0",
		"{by: [pool added], tests: [pool TestGone]}": "advisory CVE-1: the overlay neither touches nor adds pool " +
			"TestGone on v2.0.0",
	} {
		p.put(t, advisory.File, advisoryOf("CVE-1", "<v2.0.1", ", mended: "+mended))
		require.ErrorContains(t, build(t, p, false), advisory.File+": "+want)
	}
}

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
