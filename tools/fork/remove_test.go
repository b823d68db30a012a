package fork

import (
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/drift"
	"mongofork/tools/fork/filetree"
)

// Drift says what became of what is removed.
func TestRemovedChanges(t *testing.T) {
	t.Parallel()
	p := builtProject(t, filetree.Tree{"pool/overlay.go": []byte(
		"package pool\n\n//fork:remove taken it goes\n//fork:remove retryable it goes\n//fork:remove upstreamTaken it goes\nvar " +
			"added = 1\n")})
	lock := p.read(t, p.LockFile())
	require.Contains(t, lock, "remove pool retryable: sha256:")
	matched, err := p.Plan(t.Context())
	require.NoError(t, err)
	require.Equal(t, "0 replaced, 0 wrapped, 0 extended, 1 added, 3 removed", matched.Counts())
	report, err := p.Drift(t.Context(), "v2.1.0")
	require.NoError(t, err)
	got := map[string]drift.Class{}
	for _, row := range report.Rows {
		got[row.Subject.String()] = row.Class()
	}
	require.Equal(t, map[string]drift.Class{"pool taken": drift.Moved, "pool retryable": drift.Same, "pool upstreamTaken": drift.Gone},
		got)
}
