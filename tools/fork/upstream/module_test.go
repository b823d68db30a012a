package upstream

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestModuleCacheErrors(t *testing.T) {
	t.Parallel()
	answer := func(out string, err error) ModuleCache {
		return ModuleCache{Run: func(_ context.Context, _ string, env []string, name string, args ...string) ([]byte, error) {
			require.Equal(t, "go mod download -json m@v1.0.0", name+" "+strings.Join(args, " "))
			require.Contains(t, env, "GOWORK=off")
			return []byte(out), err
		}}
	}
	for _, tc := range []struct {
		cache ModuleCache
		want  string
	}{
		{answer(`{"Error": "unknown revision"}`, errors.New("exit status 1")),
			"module m@v1.0.0 is not available: unknown revision"},
		{answer("", errors.New("no go command")), "module m@v1.0.0 is not available: no go command"},
		{answer("not JSON", nil), "module m@v1.0.0 is not available: invalid character"},
		{answer(`{"Dir": "/nonexistent/module"}`, nil), "module m@v1.0.0 is not available: lstat "},
	} {
		_, err := tc.cache.Module(t.Context(), "m", "v1.0.0")
		require.ErrorContains(t, err, tc.want)
	}
}
