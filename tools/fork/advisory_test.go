package fork

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/advisory"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/problem"
)

// entry returns one with some of its lines replaced; an empty value leaves the line out.
func entry(replaced map[string]string) string {
	fields := map[string]string{
		"id": "CVE-1", "title": "A title", "affected": `[">=v1.0.0 <v2.0.1", "=v2.2.0"]`, "impact": "Somebody reads all.", "fixed": "v2.0.1",
		"mended": "{v2.0.0: {by: [pool added], tests: [pool TestAdded]}}",
	}
	maps.Copy(fields, replaced)
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if fields[name] != "" {
			lines = append(lines, name+": "+fields[name])
		}
	}
	return "- " + strings.Join(lines, "\n  ") + "\n"
}

func TestAdvisoryState(t *testing.T) {
	t.Parallel()
	list, err := advisory.Parse("a.yaml", []byte(entry(nil)))
	require.NoError(t, err)
	for version, want := range map[string]advisory.State{
		"v0.9.9": advisory.MendedUpstream, "v1.0.0": advisory.Open, "v2.0.0": advisory.MendedHere, "v2.0.1-rc.1": advisory.Open, "v2.0.1": advisory.MendedUpstream,
		"v2.2.0": advisory.Open, "v2.2.1": advisory.MendedUpstream,
	} {
		require.Equal(t, want, list[0].State(version), version)
	}
	require.Equal(t, "advisories: 1 known, 0 fixed by upstream, 1 by the fork, 0 open", list.Summary("v2.0.0"))
	require.Equal(t, "advisories: 1 known, 0 fixed by upstream, 0 by the fork, 1 open: CVE-1", list.Summary("v1.0.0"))
	require.Equal(t, []string{"CVE-1"}, list.Affecting("v2.0.0"), "what upstream's own release has")
	require.Empty(t, list.Affecting("v2.0.1"))
}

func TestAdvisoryMistakes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text, want string
	}{
		{"no list", "id: x\n", "a.yaml: the list cannot be read: "},
		{"unknown field", entry(map[string]string{"severity": "high"}), "field severity not found"},
		{"no id", entry(map[string]string{"id": ""}), "a.yaml:1: advisory : id is missing"},
		{"no title", entry(map[string]string{"title": ""}), "advisory CVE-1: title is missing"},
		{"no impact", entry(map[string]string{"impact": ""}), "advisory CVE-1: impact is missing"},
		{"no fix", entry(map[string]string{"fixed": ""}), "advisory CVE-1: fixed is missing"},
		{"no range", entry(map[string]string{"affected": "", "mended": ""}), "advisory CVE-1: affected is missing"},
		{"no term", entry(map[string]string{"affected": `[""]`, "mended": ""}), "needs at least one term"},
		{"no version", entry(map[string]string{"affected": `["<2.0"]`, "mended": ""}), `"2.0" is not a version`},
		{"no test", entry(map[string]string{"mended": "{v2.0.0: {by: [pool added]}}"}), "mended on v2.0.0: want at least one declaration in by and one in tests"},
		{"accepted for nothing", entry(map[string]string{"accepted": "{v2.0.0: mended, in fact}"}), "accepted on v2.0.0: want a reason, and a base on which it is open"},
		{"accepted without a reason", entry(map[string]string{"mended": "", "accepted": "{v2.0.0: }"}), "accepted on v2.0.0: want a reason"},
		{"mended for nothing", entry(map[string]string{"mended": "{v2.0.1: {by: [pool added], tests: [pool TestAdded]}}"}), "mended on v2.0.1, which is not affected"},
		{"twice", entry(nil) + "\n" + entry(nil), "a.yaml:8: advisory CVE-1 is listed twice"},
	} {
		_, err := advisory.Parse("a.yaml", []byte(tc.text))
		require.ErrorContains(t, err, tc.want, tc.name)
		require.ErrorAs(t, err, &problem.List{}, tc.name)
	}
	for _, empty := range []string{"", "# nothing yet\n", "[]\n"} {
		list, err := advisory.Parse("a.yaml", []byte(empty))
		require.NoError(t, err)
		require.Empty(t, list)
	}
}

// What is said to mend an advisory has to be there, on the base for which it is said.
func TestAdvisoriesNameWhatExists(t *testing.T) {
	t.Parallel()
	files := overlayOf("func added() {}\n")
	files["pool/overlay_test.go"] = []byte("package pool\n\nimport \"testing\"\n\nfunc TestAdded(*testing.T) {}\n")
	files[advisory.File] = []byte(entry(nil))
	p := builtProject(t, files)
	require.NoError(t, build(t, p, false))
	for mended, want := range map[string]string{
		"{by: [pool added, pool gone], tests: [pool TestAdded]}": "advisory CVE-1: the overlay neither touches nor adds pool gone on v2.0.0",
		"{by: [pool added], tests: [pool TestGone]}":             "advisory CVE-1: the overlay neither touches nor adds pool TestGone on v2.0.0",
		"{by: [pool added], tests: [pool added]}":                "advisory CVE-1: pool added is not a test",
		"{by: [added], tests: [pool TestAdded]}":                 `advisory CVE-1: key "added": want 'folder Name'`,
	} {
		p.put(t, advisory.File, entry(map[string]string{"mended": "{v2.0.0: " + mended + "}"}))
		require.ErrorContains(t, build(t, p, false), advisory.File+":1: "+want)
	}
}

func TestOpenAdvisoriesAreRefused(t *testing.T) {
	t.Parallel()
	open := entry(map[string]string{"mended": ""})
	p := builtProject(t, filetree.Tree{advisory.File: []byte(open + entry(map[string]string{"id": "fixed", "affected": `["<v2.0.0"]`, "mended": ""}))})
	require.EqualError(t, p.RefuseOpen(nil, false), "etc/advisories.yaml:1: advisory CVE-1 is open on v2.0.0: A title\n"+
		"  fix: correct it in the overlay, or take another base; --allow-open CVE-1 takes it nevertheless")
	require.NoError(t, p.RefuseOpen([]string{"CVE-1"}, false))
	p.put(t, advisory.File, entry(map[string]string{"mended": "", "accepted": "{v2.0.0: nobody uses it}"}))
	require.NoError(t, p.RefuseOpen(nil, false), "accepted where it is built")
	require.ErrorContains(t, p.RefuseOpen(nil, true), "advisory CVE-1 is open on v2.0.0", "but not handed out")
	require.NoError(t, p.RefuseOpen([]string{"CVE-1"}, true))
	for _, id := range []string{"fixed", "unknown"} {
		require.ErrorContains(t, p.RefuseOpen([]string{"CVE-1", id}, false), "advisory "+id+" is not open on v2.0.0")
	}
	require.NoError(t, (&Project{Root: p.Root, Base: "v2.1.0"}).RefuseOpen(nil, false), "the other base is not affected")
	require.NoError(t, (&Project{Root: t.TempDir(), Base: "v2.0.0"}).RefuseOpen(nil, false), "nothing is known")
}

func TestSecurityPage(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- written by mongofork advisories -->\n", "<!-- end -->\n"
	p := builtProject(t, filetree.Tree{advisory.File: []byte(entry(map[string]string{"mended": ""}) + entry(map[string]string{"id": "slug"}) +
		entry(map[string]string{"id": "old", "affected": `["<v2.0.0"]`, "mended": ""}))})
	_, err := p.WriteSecurityPage()
	require.ErrorContains(t, err, "security.md")
	p.put(t, SecurityPage, "# Page\n")
	_, err = p.WriteSecurityPage()
	require.ErrorContains(t, err, "the page lacks the marks")
	p.put(t, SecurityPage, "# Page\n"+begin+"stale\n"+end+"after\n")
	changed, err := p.WriteSecurityPage()
	require.NoError(t, err)
	require.True(t, changed)
	page := p.read(t, SecurityPage)
	for _, want := range []string{
		"| [CVE-1](#cve-1) | >=v1.0.0 <v2.0.1 or =v2.2.0 | **open** |\n", "| fixed by the fork |\n", "| fixed by upstream |\n",
		"\nThe fork on v2.0.0: **open**.\n", "\nThe fork on v2.0.0: `pool added`; tested by `pool TestAdded`.\n",
		"\nA title. Somebody reads all.\n", "fixed in v2.0.1.\n",
	} {
		require.Contains(t, page, want)
	}
	require.True(t, strings.HasPrefix(page, "# Page\n") && strings.HasSuffix(page, end+"after\n"), page)
	changed, err = p.WriteSecurityPage()
	require.NoError(t, err)
	require.False(t, changed)
}

// The repository's own page says what its list says.
func TestSecurityPageIsCurrent(t *testing.T) {
	t.Parallel()
	old, text, err := (&Project{Root: repositoryRoot}).securityPage()
	require.NoError(t, err)
	requireText(t, string(text), string(old)) // go run ./tools/cmd/mongofork advisories -w
}
