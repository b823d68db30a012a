package syntax

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// declOf parses a file and returns one of its declarations.
func declOf(t *testing.T, code, name string) *Decl {
	t.Helper()
	s, err := Parse("p.go", []byte("package p\n\n"+code))
	require.NoError(t, err)
	require.NotNil(t, s.Decl(name), "%s in %s", name, code)
	return s.Decl(name)
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, what, a, b string
		same             bool
	}{
		{"f", "comments", "// Doc.\nfunc f() { /* here */ g() }", "func f() { g() }", true},
		{"f", "line breaks", "func f() { g(); h() }", "func f() {\n\tg()\n\th()\n}", true},
		{"f", "a token", "func f() { g() }", "func f() { h() }", false},
		{"f", "tokens that touch", "func f() { a(b) }", "func f() { ab() }", false},
		{"s", "a string's content", "var s = `a b`", "var s = `a  b`", false},
		{"a", "parentheses around one", "var a = 1", "var (\n\ta = 1\n)", true},
		{"a", "neighbours", "var (\n\ta = 1\n\tb = 2\n)", "var (\n\ta = 1\n\tb = 3\n)", true},
		{"a", "the group's keyword", "var (\n\ta = 1\n\tb = 2\n)", "const (\n\ta = 1\n\tb = 2\n)", false},
		{"b", "the place in an iota group", "const (\n\ta = iota\n\tb\n)", "const (\n\tz = iota\n\ta\n\tb\n)", false},
		{"T.m", "the receiver", "func (t T) m() {}", "func (t *T) m() {}", false},
	} {
		a, b := Fingerprint(declOf(t, tc.a, tc.name)), Fingerprint(declOf(t, tc.b, tc.name))
		require.Regexp(t, "^sha256:[0-9a-f]{64}$", a)
		require.Equal(t, tc.same, a == b, "%s: %s | %s", tc.what, tc.a, tc.b)
	}
}
