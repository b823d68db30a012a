package series

import (
	"go/format"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"mongofork/tools/fork/syntax"
)

// A wrapper and what it wraps become one function, which does the same; where a name would mean something else, they stay two.
func TestMerged(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile(filepath.Join("testdata", "merged.txtar"))
	require.NoError(t, err)
	files := map[string]string{}
	for _, f := range archive.Files {
		files[f.Name] = string(f.Data)
	}
	for name, text := range files {
		want, one := files[name+", as one"]
		source, err := syntax.Parse("pool.go", []byte(text))
		if err != nil {
			continue // the outcome of another
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := merged(source, source.Decls[0].Func, source.Decls[1].Func)
			require.Equal(t, one, ok)
			formatted, err := format.Source([]byte("package pool\n\n" + got))
			require.NoError(t, err)
			require.Equal(t, strings.TrimSpace(want),
				strings.TrimSpace(strings.TrimPrefix(string(formatted), "package pool\n")))
		})
	}
}
