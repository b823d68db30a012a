package series

import (
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/command"
	"mongofork/tools/fork/filetree"
)

// A byte that is not the fork's, a file too many and a missing one are found after the last patch.
func TestSeriesCompared(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, want string
		change     func(goal filetree.Tree)
	}{
		{name: "the same", change: func(filetree.Tree) {}},
		{name: "another byte", want: "M  pool/policy.go", change: func(goal filetree.Tree) {
			goal["pool/policy.go"] = append(goal["pool/policy.go"], '\n')
		}},
		{name: "one too many", want: "D  pool/count.go", change: func(goal filetree.Tree) {
			delete(goal, "pool/count.go")
		}},
		{name: "one too few", want: "A  pool/more.go", change: func(goal filetree.Tree) {
			goal["pool/more.go"] = []byte("package pool\n")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := planSeries(t, seriesOverlay())
			patches, _ := patchesOf(t, s)
			goal, err := s.goal()
			require.NoError(t, err)
			v, err := s.newTree(t.Context(), command.Output, Check{Dir: t.TempDir()})
			require.NoError(t, err)
			for _, patch := range patches[1:] {
				require.NoError(t, v.apply(patch))
			}
			tt.change(goal)
			if err := v.compare(goal); tt.want != "" {
				require.ErrorContains(t, err, tt.want)
			} else {
				require.NoError(t, err)
			}
		})
	}
}

// The goal is of the overlay alone, without the files that are listed as left out.
func TestSeriesGoalIsOfTheOverlay(t *testing.T) {
	t.Parallel()
	s := planSeries(t, seriesOverlay())
	_, last := patchesOf(t, s)
	goal, err := s.goal()
	require.NoError(t, err)
	require.Empty(t, filetree.Changed(goal, last))
	require.NotContains(t, goal, "pool/own.go", "what is listed")
	require.Contains(t, string(goal["pool/policy.go"]), "shout string")
}
