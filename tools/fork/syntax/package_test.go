package syntax

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPackageClause(t *testing.T) {
	t.Parallel()
	for want, files := range map[string][]string{
		"pool": {"//go:build ignore\n\npackage main\n", "package pool\n"},
		"":     nil,
	} {
		var sources []*File
		for _, code := range files {
			s, err := Parse("a.go", []byte(code))
			require.NoError(t, err)
			sources = append(sources, s)
		}
		require.Equal(t, want, NewPackage("pool", sources).Name)
	}
	s, err := Parse("a_test.go", []byte("package pool_test\n"))
	require.NoError(t, err)
	require.Equal(t, "pool", NewPackage("pool", []*File{s}).Name, "only external tests")
}
