package syntax

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPackageName(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"math/rand/v2": "rand", "net/http": "http", "example.com/go-thing": "thing", "gopkg.in/yaml.v3": "yaml",
		"example.com/x/thing/v3": "thing", "v2": "v2",
	} {
		require.Equal(t, want, packageName(path), path)
	}
}
