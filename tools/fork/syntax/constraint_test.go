package syntax

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNameTags(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"pool.go": "", "linux.go": "", "pool_linux.go": "linux", "pool_linux_arm64.go": "linux && arm64",
		"pool_amd64_test.go": "test && amd64", "pool_other.go": "", "pool_arm64_linux.go": "linux",
	} {
		s, err := Parse(name, []byte("package pool\n"))
		require.NoError(t, err)
		require.Equal(t, want, s.Constraint, name)
	}
	s, err := Parse("pool_linux.go", []byte("//go:build cgo && (a||b)\n\npackage pool\n"))
	require.NoError(t, err)
	require.Equal(t, "linux && cgo && (a || b)", s.Constraint)
}
