package assemble

import (
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/syntax"
)

func TestWithoutDirectives(t *testing.T) {
	t.Parallel()
	const code = "package p\n\n// Doc.\n//\n//fork:replace x\nfunc f() {}\n\n//fork:remove A x\nfunc g() {}\n"
	s, err := syntax.Parse("p.go", []byte(code))
	require.NoError(t, err)
	require.Equal(t, "package p\n\n// Doc.\nfunc f() {}\n\nfunc g() {}\n", string(withoutDirectives(s, 0, len(code))))
}
