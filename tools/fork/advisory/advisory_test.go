package advisory

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/problem"
)

// entry returns an entry of a list of advisories with some of its lines replaced; an empty value leaves the line out.
func entry(replaced map[string]string) string {
	fields := map[string]string{
		"id": "CVE-1", "title": "A title", "affected": `[">=v1.0.0 <v2.0.1", ">=v2.2.0 <v2.2.1"]`, "impact": "Somebody reads all.",
		"fixed":  "v2.0.1",
		"mended": "{by: [pool added], tests: [pool TestAdded]}",
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

func read(t *testing.T, text string) (List, error) {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, filetree.Tree{File: []byte(text)}.Write(root))
	return Read(root)
}

func TestAdvisoryState(t *testing.T) {
	t.Parallel()
	list, err := read(t, entry(nil))
	require.NoError(t, err)
	for version, want := range map[string]State{
		"v0.9.9": MendedUpstream, "v1.0.0": MendedHere, "v2.0.1-rc.1": MendedHere, "v2.0.1": MendedUpstream, "v2.2.0": MendedHere,
		"v2.2.1": MendedUpstream,
	} {
		require.Equal(t, want, list[0].State(version), version)
	}
	require.Equal(t, "advisories: 1 known, 0 fixed by upstream, 1 by the fork, 0 open", list.Summary("v2.0.0"))
	open, err := read(t, entry(map[string]string{"mended": ""}))
	require.NoError(t, err)
	require.Equal(t, "advisories: 1 known, 0 fixed by upstream, 0 by the fork, 1 open: CVE-1", open.Summary("v1.0.0"))
}

func TestAdvisoryMistakes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"id: x\n": "etc/advisories.yaml: yaml: unmarshal errors:",
		entry(map[string]string{"severity": "high"}):     "field severity not found",
		entry(map[string]string{"id": ""}):               "etc/advisories.yaml: advisory  is incomplete",
		entry(map[string]string{"affected": ""}):         "advisory CVE-1 is incomplete",
		entry(map[string]string{"affected": `[""]`}):     "needs at least one term",
		entry(map[string]string{"affected": `["<2.0"]`}): `base term "<2.0": want < or >= before a version`,
		entry(map[string]string{"mended": "{by: [a]}"}):  "advisory CVE-1 is incomplete\n  fix: give it an id, a title",
	} {
		_, err := read(t, text)
		require.ErrorContains(t, err, want, text)
		require.ErrorAs(t, err, &problem.List{}, text)
	}
	list, err := read(t, "# nothing yet\n")
	require.NoError(t, err)
	require.Empty(t, list)
}
