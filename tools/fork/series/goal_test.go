package series

import (
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
)

// The goal is of the overlay alone, without the files that are listed as left out.
func TestSeriesGoalIsOfTheOverlay(t *testing.T) {
	t.Parallel()
	s := planSeries(t, seriesOverlay())
	_, last := patchesOf(t, s)
	goal, err := s.Goal()
	require.NoError(t, err)
	require.Empty(t, filetree.Changed(goal, last))
	require.NotContains(t, goal, "pool/own.go", "what is listed")
	require.Contains(t, string(goal["pool/policy.go"]), "shout string")
}
