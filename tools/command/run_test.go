package command

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The error of a failed command names it, also without arguments, and has what it wrote to its standard error.
func TestOutputOfAFailedCommand(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"go: exit status 2: ":      nil,
		"go tool: exit status 2: ": {"tool", "no-such-tool"},
	} {
		_, err := Output(t.Context(), t.TempDir(), []string{"GOWORK=off"}, "go", args...)
		require.ErrorContains(t, err, want)
	}
}
