package series

import (
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/command"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/forktest"
)

// Each patch is tried as git am does, then with a merge; one that conflicts is left out and named with its files.
func TestTryPatches(t *testing.T) {
	t.Parallel()
	patches, _ := patchesOf(t, planSeries(t, forktest.SeriesOverlay()))
	before := forktest.Versions(t)[forktest.Base]
	edited := func(edits ...string) filetree.Tree {
		text := string(before["pool/pool.go"])
		for i := 0; i < len(edits); i += 2 {
			require.Contains(t, text, edits[i])
			text = strings.Replace(text, edits[i], edits[i+1], 1)
		}
		after := maps.Clone(before)
		after["pool/pool.go"] = []byte(text)
		return after
	}
	taken := maps.Clone(before)
	taken["pool/policy.go"] = []byte("package pool\n")
	for _, tt := range []struct {
		name string
		tree filetree.Tree
		want []TriedPatch
	}{
		{"as it was", before, []TriedPatch{{Result: Applies}, {Result: Applies}}},
		{"elsewhere", edited("func taken() {}", "func other() {}"), []TriedPatch{{Result: Applies}, {Result: Applies}}},
		{"close by", edited("\tused int\n", "\tused int // now\n"), []TriedPatch{{Result: Applies}, {Result: Merges}}},
		{"the same lines", edited("Get(ctx context.Context, name string) (int", "Get(ctx context.Context, name string, n int) (int"),
			[]TriedPatch{{Result: Applies}, {Result: Conflicts, Conflicts: []string{"pool/pool.go"}}}},
		{"a file of the first", taken, []TriedPatch{{Result: Conflicts, Conflicts: []string{"pool/policy.go"}}, {Result: Conflicts, Conflicts: []string{"pool/policy.go"}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tried, err := Try(t.Context(), command.Output, before, tt.tree, patches)
			require.NoError(t, err)
			for i := range tt.want {
				tt.want[i].Name, tt.want[i].Step = patches[i+1].Name, patches[i+1].Step
			}
			require.Equal(t, tt.want, tried)
		})
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	_, err := Try(stopped, command.Output, before, before, patches)
	require.ErrorIs(t, err, context.Canceled)
}
