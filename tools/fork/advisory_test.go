package fork

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/advisory"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/forktest"
)

// What is listed as the fix of an advisory has to exist, on the base for which it is listed.
func TestAdvisoriesNameWhatExists(t *testing.T) {
	t.Parallel()
	files := overlayOf("func added() {}\n")
	files["pool/overlay_test.go"] = []byte("package pool\n\nimport \"testing\"\n\nfunc TestAdded(*testing.T) {}\n")
	files[advisory.File] = []byte(forktest.Advisory(nil))
	p := builtProject(t, files)
	require.NoError(t, build(t, p, false))
	for mended, want := range map[string]string{
		"[{by: [pool added, pool gone], tests: [pool TestAdded]}]": "advisory CVE-1: the overlay neither touches nor adds pool gone on v2.0.0",
		"[{by: [pool added], tests: [pool TestGone]}]":             "advisory CVE-1: the overlay neither touches nor adds pool TestGone on v2.0.0",
		"[{by: [pool added], tests: [pool added]}]":                "advisory CVE-1: pool added is not a test",
		"[{by: [added], tests: [pool TestAdded]}]":                 `advisory CVE-1: key "added": want 'folder Name'`,
	} {
		p.put(t, advisory.File, forktest.Advisory(map[string]string{"mended": mended}))
		require.ErrorContains(t, build(t, p, false), advisory.File+":1: "+want)
	}
}

func TestOpenAdvisoriesAreRefused(t *testing.T) {
	t.Parallel()
	open := forktest.Advisory(map[string]string{"mended": ""})
	p := builtProject(t, filetree.Tree{advisory.File: []byte(open + forktest.Advisory(map[string]string{"id": "fixed", "affected": `["<v2.0.0"]`, "mended": ""}))})
	require.EqualError(t, p.RefuseOpen(), "etc/advisories.yaml:1: advisory CVE-1 is open on v2.0.0: A title\n"+
		"  fix: correct it in the overlay, take another base, or say under accepted why the fork may have it")
	p.put(t, advisory.File, forktest.Advisory(map[string]string{"mended": "", "accepted": "{v2.0.0: nobody uses it}"}))
	require.NoError(t, p.RefuseOpen(), "accepted")
	require.NoError(t, (&Project{Root: p.Root, Base: "v2.1.0"}).RefuseOpen(), "the other base is not affected")
	require.NoError(t, (&Project{Root: t.TempDir(), Base: "v2.0.0"}).RefuseOpen(), "nothing is known")
}

func TestSecurityPage(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- written from etc/advisories.yaml by mongofork accept -->\n", "<!-- end -->\n"
	p := builtProject(t, filetree.Tree{advisory.File: []byte(forktest.Advisory(map[string]string{"mended": "", "accepted": "{v2.0.0: nobody uses it}"}) + forktest.Advisory(map[string]string{"id": "slug"}) +
		forktest.Advisory(map[string]string{"id": "old", "affected": `["<v2.0.0"]`, "mended": ""}))})
	require.NoError(t, (&Project{Root: t.TempDir()}).WriteSecurityPage(), "without advisories there is no page")
	require.ErrorContains(t, p.WriteSecurityPage(), "security.md")
	p.put(t, SecurityPage, "# Page\n")
	require.ErrorContains(t, p.WriteSecurityPage(), "the page lacks the marks")
	p.put(t, SecurityPage, "# Page\n"+begin+"stale\n"+end+"after\n")
	require.NoError(t, p.WriteSecurityPage())
	page := p.read(t, SecurityPage)
	for _, want := range []string{
		"| CVE-1 | A title | >=v1.0.0 <v2.0.1 or =v2.2.0; v2.0.1 | **open**, built nevertheless: nobody uses it |\n",
		"| slug | A title | >=v1.0.0 <v2.0.1 or =v2.2.0; v2.0.1 | fork |\n",
		"| old | A title | <v2.0.0; v2.0.1 | upstream |\n",
	} {
		require.Contains(t, page, want)
	}
	require.True(t, strings.HasPrefix(page, "# Page\n") && strings.HasSuffix(page, end+"after\n"), page)
	require.NoError(t, p.WriteSecurityPage())
	require.Equal(t, page, p.read(t, SecurityPage))
}

// The repository's own page says what its list says.
func TestSecurityPageIsCurrent(t *testing.T) {
	t.Parallel()
	old, text, err := (&Project{Root: repositoryRoot}).securityPage()
	require.NoError(t, err)
	requireText(t, string(text), string(old)) // make lock
}
