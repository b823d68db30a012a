package advisories

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/fork"
	"mongofork/tools/strict"
)

// Only what is reached counts, once, by the first call of the module that reaches it.
func TestRead(t *testing.T) {
	t.Parallel()
	messages, err := os.ReadFile(filepath.Join("testdata", "messages.json"))
	require.NoError(t, err)
	found, err := read(messages)
	require.NoError(t, err)
	assert.Equal(t, []Found{{"GO-1", "m", "v1.1.0", "v1.2.0", "ours/q.*T.Do"}}, found)
	_, err = read([]byte("no JSON"))
	assert.Error(t, err)
}

func TestJudge(t *testing.T) {
	t.Parallel()
	var list []fork.Advisory
	require.NoError(t, strict.Decode([]byte(`
- {id: GO-1, affected: ["<v2.9.0"], dependency: {module: m, fixed: v1.2.0, go: "1.25"}, accepted: {v2.5.0: Why.}}
- {id: CVE-1, affected: ["<v2.9.0"]}
`), &list))
	one := Found{"GO-1", "m", "v1.1.0", "v1.2.0", "q.Do"}
	two := Found{"GO-2", "n", "v1.1.0", "", "q.Do"}
	standard := Found{"GO-3", standard, "v1.26.0", "v1.26.1", "q.Do"}
	for _, tt := range []struct {
		found []Found
		base  string
		want  string
	}{
		{[]Found{one, standard}, "v2.5.0", "1 reached in dependencies, 0 open; 1 in the standard library of this Go"},
		{[]Found{one, two}, "v2.5.0", "2 reached in dependencies, 1 open; 0 in the standard library of this Go\n" +
			"  GO-2 is open: n v1.1.0, fixed in , reached by q.Do"},
		{nil, "v2.5.0", "  GO-1 is accepted by etc/advisories.yaml, but is not found: remove the entry, or the base from it"},
		{[]Found{one}, "v2.10.0", "  GO-1 is open: m v1.1.0, fixed in v1.2.0, reached by q.Do"},
		{nil, "lab", "0 reached in dependencies, 0 open; 0 in the standard library of this Go"},
	} {
		said, open := Judge(tt.found, list, tt.base)
		assert.True(t, strings.HasSuffix(said, tt.want), said)
		assert.Equal(t, strings.Contains(said, "\n"), open)
	}
}
