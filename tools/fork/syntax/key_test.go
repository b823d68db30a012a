package syntax

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseKey(t *testing.T) {
	t.Parallel()
	key, err := ParseKey("x/mongo/driver Operation.Execute")
	require.NoError(t, err)
	require.Equal(t, Key{"x/mongo/driver", "Operation.Execute"}, key)
	require.Equal(t, "x/mongo/driver Operation.Execute", key.String())
	for _, wrong := range []string{"", "Execute", "x/ Execute", "../x Execute", "x A.B.C", "x 1", "x "} {
		_, err := ParseKey(wrong)
		require.Error(t, err, wrong)
	}
}

func TestPackageName(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"math/rand/v2": "rand", "net/http": "http", "example.com/go-thing": "thing", "gopkg.in/yaml.v3": "yaml",
		"example.com/x/thing/v3": "thing", "v2": "v2",
	} {
		require.Equal(t, want, packageName(path), path)
	}
}
