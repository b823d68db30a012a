package fork

import (
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/command"
)

func TestDriftOfAnUnknownVersion(t *testing.T) {
	t.Parallel()
	p := builtProject(t, overlayOf("func added() {}\n"))
	_, err := p.Drift(t.Context(), command.Output, "v9.9.9")
	require.ErrorContains(t, err, "no version v9.9.9")
}
