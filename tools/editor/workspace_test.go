package editor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/txtar"
)

// repository is a small one: upstream's driver in the assembled fork, an overlay, and a module that uses the fork.
const repository = `
-- go.mod --
module tools

go 1.25.0

ignore ./p
-- tool/tool.go --
package tool
-- user/go.mod --
module user

go 1.25.0

require example.com/driver v1.0.0

replace example.com/driver => ../build/v1.0.0
-- user/user.go --
package user

import "example.com/driver/p"

var Sum = p.Sum()
-- p/ours.go --
package p

// Sum is ours.
func Sum() int { return theirs() }
-- p/fields.go --
package p

//fork:extend one more
type Theirs struct{ B int }
-- p/other_base.go --
package p
-- build/v1.0.0/go.mod --
module example.com/driver

go 1.19
-- build/v1.0.0/p/theirs.go --
package p

type Theirs struct{ A, B int }

func theirs() int { return 1 }
-- build/v1.0.0/p/ours.go --
package p

func Sum() int { return theirs() }
-- build/v1.0.0/p/fields.go --
package p
`

func open(t *testing.T) Workspace {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, file := range txtar.Parse([]byte(repository)).Files {
		name := filepath.Join(root, filepath.FromSlash(file.Name))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, file.Data, 0o600))
	}
	w, err := Open(root, "v1.0.0", []string{"p"})
	require.NoError(t, err)
	return w
}

func TestOpenWithoutAFork(t *testing.T) {
	t.Parallel()
	_, err := Open(t.TempDir(), "v1.0.0", nil)
	assert.ErrorContains(t, err, "the fork is not built; run: make fork BASE=v1.0.0")
}

func TestCounterparts(t *testing.T) {
	t.Parallel()
	w := open(t)
	for _, tt := range []struct{ name, assembled, source string }{
		{name: "the overlay's", assembled: "p/ours.go", source: "p/ours.go"},
		{name: "upstream's", assembled: "p/theirs.go", source: ""},
		{name: "one that extends a struct", assembled: "p/fields.go", source: ""},
		{name: "not of the overlay", assembled: "go.mod", source: ""},
	} {
		want := filepath.Join(w.Fork, tt.assembled)
		if tt.source != "" {
			want = filepath.Join(w.Root, tt.source)
		}
		assert.Equal(t, want, w.Source(filepath.Join(w.Fork, tt.assembled)), tt.name)
	}
	assert.Equal(t, filepath.Join(w.Fork, "p/ours.go"), w.Assembled(filepath.Join(w.Root, "p/ours.go")))
	for _, same := range []string{"p/other_base.go", "tool/tool.go", "user/user.go"} {
		assert.Equal(t, filepath.Join(w.Root, same), w.Assembled(filepath.Join(w.Root, same)))
	}
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, dir string
		patterns  []string
		want      map[string]string // files of the packages that are asked for
	}{
		{"a file of the overlay", ".", []string{"file=p/ours.go"}, map[string]string{"example.com/driver/p": "build/v1.0.0/p/fields.go p/ours.go build/v1.0.0/p/theirs.go"}},
		{"a file of another module", ".", []string{"file=user/user.go"}, map[string]string{"user": "user/user.go"}},
		{"a folder of the overlay", ".", []string{"./p"}, map[string]string{"example.com/driver/p": "build/v1.0.0/p/fields.go p/ours.go build/v1.0.0/p/theirs.go"}},
		{"all, from the root", ".", []string{"./..."}, map[string]string{"tools/tool": "tool/tool.go", "user": "user/user.go",
			"example.com/driver/p": "build/v1.0.0/p/fields.go p/ours.go build/v1.0.0/p/theirs.go"}},
		{"all, from a module", "user", []string{"./..."}, map[string]string{"user": "user/user.go"}},
		{"an import path", ".", []string{"example.com/driver/p"}, map[string]string{"example.com/driver/p": "build/v1.0.0/p/fields.go p/ours.go build/v1.0.0/p/theirs.go"}},
		{"one of the standard library", ".", []string{"builtin"}, map[string]string{"builtin": ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			request := packages.DriverRequest{Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps,
				Env: append(os.Environ(), "GOFLAGS=", "GOPROXY=off")}
			response, err := w.Answer(t.Context(), filepath.Join(w.Root, tt.dir), request, tt.patterns)
			require.NoError(t, err)
			files := map[string]string{}
			for _, p := range response.Packages {
				files[p.ID] = strings.TrimPrefix(strings.ReplaceAll(strings.Join(p.GoFiles, " "), w.Root+"/", ""), " ")
				assert.Empty(t, p.Errors, p.ID)
			}
			got := map[string]string{}
			for _, root := range response.Roots {
				if got[root] = files[root]; root == "builtin" {
					got[root] = ""
				}
			}
			assert.Equal(t, tt.want, got)
		})
	}
}

// TestAnswerSeesUnsavedBuffers is about imports that are in the editor only.
func TestAnswerSeesUnsavedBuffers(t *testing.T) {
	t.Parallel()
	w := open(t)
	file := filepath.Join(w.Root, "p", "ours.go")
	response, err := w.Answer(t.Context(), w.Root, packages.DriverRequest{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps, Env: append(os.Environ(), "GOFLAGS=", "GOPROXY=off"),
		Overlay: map[string][]byte{file: []byte("package p\n\nimport _ \"errors\"\n")},
	}, []string{"file=" + file})
	require.NoError(t, err)
	var ids []string
	for _, p := range response.Packages {
		ids = append(ids, p.ID)
	}
	assert.Contains(t, ids, "errors")
}
