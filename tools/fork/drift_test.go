package fork

import (
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/forktest"
)

func TestNewestRelease(t *testing.T) {
	t.Parallel()
	p := builtProject(t, overlayOf("func added() {}\n"))
	source := p.Source.(forktest.Source)
	source["v2.0.10"], source["v2.2.0-rc1"] = source[forktest.Base], source[forktest.Base]
	newest, err := p.NewestRelease(t.Context())
	require.NoError(t, err)
	require.Equal(t, "v2.1.0", newest)
}

func TestDriftOfAnUnknownVersion(t *testing.T) {
	t.Parallel()
	p := builtProject(t, overlayOf("func added() {}\n"))
	_, err := p.Drift(t.Context(), "v9.9.9")
	require.ErrorContains(t, err, "no version v9.9.9")
}
