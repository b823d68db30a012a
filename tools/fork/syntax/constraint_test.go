package syntax

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConstraint(t *testing.T) {
	t.Parallel()
	s, err := Parse("pool_test.go", []byte("//go:build cgo && (a||b)\n\npackage pool\n"))
	require.NoError(t, err)
	require.Equal(t, "test && cgo && (a || b)", s.Constraint)
}
