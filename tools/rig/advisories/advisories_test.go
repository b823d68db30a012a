package advisories

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/fork"
	"mongofork/tools/strict"
)

// Of what govulncheck says, what is reached in dependencies and not accepted is open; nothing is accepted in vain.
func TestJudge(t *testing.T) {
	t.Parallel()
	var list []fork.Advisory
	require.NoError(t, strict.Decode([]byte(`
- {id: GO-1, affected: ["<v2.9.0"], dependency: {module: m, fixed: v1.2.0, go: "1.25"}, accepted: {v2.5.0: Why.}}
- {id: CVE-1, affected: ["<v2.9.0"]}
`), &list))
	one, two, standard := [2]string{"GO-1", "Module: m"}, [2]string{"GO-2", "Module: n"}, [2]string{"GO-3", "Standard library"}
	for _, tt := range []struct {
		found [][2]string
		base  string
		want  string
	}{
		{[][2]string{one, standard}, "v2.5.0", "1 reached in dependencies, 0 open; 1 in the standard library of this Go"},
		{[][2]string{standard, one, two}, "v2.5.0", "2 reached in dependencies, 1 open; 1 in the standard library of this Go\n" +
			"  open: Vulnerability #3: GO-2\n    What it is.\n  Module: n\n    Found in: v1\n      #1: q.go:1:1: q.Do calls x.Do"},
		{nil, "v2.5.0", "  GO-1 is accepted by etc/advisories.yaml, but is not found: remove the entry, or the base from it"},
		{[][2]string{one}, "v2.10.0", "  open: Vulnerability #1: GO-1\n    What it is.\n  Module: m\n    Found in: v1\n" +
			"      #1: q.go:1:1: q.Do calls x.Do"},
		{nil, "lab", "0 reached in dependencies, 0 open; 0 in the standard library of this Go"},
	} {
		scan := "=== Symbol Results ===\n\n"
		for i, f := range tt.found {
			scan += fmt.Sprintf("Vulnerability #%d: %s\n    What it is.\n  %s\n    Found in: v1\n      #1: q.go:1:1: q.Do calls x.Do\n"+
				"      #2: q.go:2:1: q.No calls x.Do\n\n", i+1, f[0], f[1])
		}
		said, open := Judge(scan, list, tt.base)
		assert.True(t, strings.HasSuffix(said, tt.want), said)
		assert.Equal(t, strings.Contains(said, "\n"), open)
	}
}
