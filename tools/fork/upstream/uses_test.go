package upstream

import (
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/syntax"
)

// What uses a name is found wherever it can be used; what only looks like it is not taken for it.
func TestUsesOf(t *testing.T) {
	t.Parallel()
	const function, method, internal = "pool limit", "pool budget.left", "internal/pool Limit"
	for _, tt := range []struct {
		name, key, file, text string
		want                  []string
	}{
		{"a call", function, "pool/a.go", "package pool\n\nfunc f() { limit() }", []string{"pool/a.go:3"}},
		{"a value", function, "pool/a.go", "package pool\n\nvar f = limit", []string{"pool/a.go:3"}},
		{"a type, twice", function, "pool/a.go", "package pool\n\nfunc (l *limit) f(map[string]limit) {}", []string{"pool/a.go:3", "pool/a.go:3"}},
		{"in a test", function, "pool/a_test.go", "package pool\n\nvar f = limit", []string{"pool/a_test.go:3"}},
		{"a parameter of this name", function, "pool/a.go", "package pool\n\nfunc f(limit int) int { return limit }", nil},
		{"a variable of this name", function, "pool/a.go", "package pool\n\nfunc f() int { limit := 1; return limit }", nil},
		{"a field of this name", function, "pool/a.go", "package pool\n\ntype t struct{ limit int }\n\nvar f = t{limit: 1}.limit", nil},
		{"another package", function, "conn/a.go", "package conn\n\nvar f = limit", nil},
		{"a method", method, "pool/a.go", "package pool\n\nfunc f(b budget) { b.left() }", []string{"pool/a.go:3"}},
		{"a method as a value", method, "pool/a.go", "package pool\n\nvar f = budget.left", []string{"pool/a.go:3"}},
		{"a function of the method's name", method, "pool/a.go", "package pool\n\nvar f = left", nil},
		{"from another package", internal, "conn/a.go", "package conn\n\nimport p \"example.com/internal/pool\"\n\nvar f = p.Limit", []string{"conn/a.go:5"}},
		{"from the external tests", internal, "internal/pool/a_test.go", "package pool_test\n\nimport \"example.com/internal/pool\"\n\nvar f = pool.Limit", []string{"internal/pool/a_test.go:5"}},
		{"of another package", internal, "conn/a.go", "package conn\n\nimport \"example.com/other/pool\"\n\nvar f = pool.Limit", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			key, err := syntax.ParseKey(tt.key)
			require.NoError(t, err)
			m := &Module{Path: "example.com", Tree: filetree.Tree{
				"pool/b.go": []byte("package pool\n"), "internal/pool/b.go": []byte("package pool\n"), tt.file: []byte(tt.text)}}
			at, err := m.UsesOf(key)
			require.NoError(t, err)
			require.Equal(t, tt.want, at)
		})
	}
}
