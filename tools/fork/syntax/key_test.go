package syntax

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseKey(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"x/mongo/driver Operation.Execute", "x/mongo/driver:Operation.Execute",
		" x/mongo/driver  Operation.Execute "} {
		key, err := ParseKey(text)
		require.NoError(t, err)
		require.Equal(t, Key{"x/mongo/driver", "Operation.Execute"}, key)
		require.Equal(t, "x/mongo/driver Operation.Execute", key.String())
	}
	for _, wrong := range []string{"", "Execute", "x/ Execute", "../x Execute", "x A.B.C", "x 1", "x "} {
		_, err := ParseKey(wrong)
		require.Error(t, err, wrong)
	}
}
