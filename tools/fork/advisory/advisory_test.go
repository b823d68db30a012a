package advisory

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/problem"
)

// entry returns an entry of a list of advisories with some of its lines replaced; an empty value leaves the line out.
func entry(replaced map[string]string) string {
	fields := map[string]string{
		"id": "CVE-1", "title": "A title", "affected": `[">=v1.0.0 <v2.0.1", "=v2.2.0"]`, "impact": "Somebody reads all.",
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

func TestAdvisoryState(t *testing.T) {
	t.Parallel()
	list, err := Parse([]byte(entry(nil)))
	require.NoError(t, err)
	for version, want := range map[string]State{
		"v0.9.9": MendedUpstream, "v1.0.0": MendedHere, "v2.0.1-rc.1": MendedHere, "v2.0.1": MendedUpstream, "v2.2.0": MendedHere,
		"v2.2.1": MendedUpstream,
	} {
		require.Equal(t, want, list[0].State(version), version)
	}
	require.Equal(t, "advisories: 1 known, 0 fixed by upstream, 1 by the fork, 0 open", list.Summary("v2.0.0"))
	open, err := Parse([]byte(entry(map[string]string{"mended": ""})))
	require.NoError(t, err)
	require.Equal(t, "advisories: 1 known, 0 fixed by upstream, 0 by the fork, 1 open: CVE-1", open.Summary("v1.0.0"))
}

func TestAdvisoryMistakes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text, want string
	}{
		{"no list", "id: x\n", "etc/advisories.yaml: the list cannot be read: "},
		{"unknown field", entry(map[string]string{"severity": "high"}), "field severity not found"},
		{"no id", entry(map[string]string{"id": ""}), "etc/advisories.yaml: advisory : want an id, a title"},
		{"no range", entry(map[string]string{"affected": "", "mended": ""}), "advisory CVE-1: want an id, a title, what"},
		{"no term", entry(map[string]string{"affected": `[""]`}), "needs at least one term"},
		{"no version", entry(map[string]string{"affected": `["<2.0"]`}), `"2.0" is not a version`},
		{"no test", entry(map[string]string{"mended": "{by: [pool added]}"}),
			"mended: want at least one declaration in by and one in tests"},
		{"accepted for nothing", entry(map[string]string{"accepted": "{v2.0.0: mended, in fact}"}),
			"accepted on v2.0.0: want a reason, and a base on which it is open"},
		{"accepted without a reason", entry(map[string]string{"mended": "", "accepted": "{v2.0.0: }"}),
			"accepted on v2.0.0: want a reason"},
		{"twice", entry(nil) + "\n" + entry(nil), "etc/advisories.yaml: advisory CVE-1 is listed twice"},
	} {
		_, err := Parse([]byte(tc.text))
		require.ErrorContains(t, err, tc.want, tc.name)
		require.ErrorAs(t, err, &problem.List{}, tc.name)
	}
	for _, empty := range []string{"", "# nothing yet\n", "[]\n"} {
		list, err := Parse([]byte(empty))
		require.NoError(t, err)
		require.Empty(t, list)
	}
}
