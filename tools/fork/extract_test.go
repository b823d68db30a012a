package fork

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
)

// extractable has one of everything that an edit can be traced back to.
var extractable = filetree.Tree{
	"pool/overlay.go": []byte(`package pool

import (
	"math/big"
	"sync"
)

// Added stands above the extension.
func Added() *sync.Mutex { return nil }

// Config gets a limit.
//
//fork:extend limits
type Config struct {
	// limit bounds the waiting connections.
	limit *big.Int
	log   func(string)
}

// Below stands below it.
func Below() {}
`),
	"pool/whole.go":           []byte("package pool\n\nfunc whole() {}\n"),
	"pool/testdata/case.json": []byte("{}"),
}

// extraction builds the project and replaces text in its output.
func extraction(t *testing.T, edits ...[3]string) *Project {
	t.Helper()
	p := builtProject(t, extractable)
	require.NoError(t, build(t, p, false))
	for _, e := range edits {
		p.edit(t, "build/v2.0.0/"+e[0], e[1], e[2])
	}
	return p
}

// edit replaces text in a file, once.
func (p *Project) edit(t *testing.T, name, from, to string) {
	t.Helper()
	text := p.read(t, name)
	require.Equal(t, 1, strings.Count(text, from), "%q in %s", from, name)
	p.put(t, name, strings.Replace(text, from, to, 1))
}

func TestExtract(t *testing.T) {
	t.Parallel()
	p := extraction(t,
		[3]string{"pool/whole.go", "whole() {}", "whole() { Below() }"},
		[3]string{"pool/testdata/case.json", "{}", "{\"a\": 1}"},
		[3]string{"pool/overlay.go", "return nil }", "return new(sync.Mutex) }"},
		[3]string{"pool/overlay.go", "func Below() {}\n", "func Below() {}\n\nfunc more() {}\n"},
		[3]string{"pool/pool.go", "\t// limit bounds the waiting connections.\n", "\t// limit bounds those that wait.\n"},
		[3]string{"pool/pool.go", "\tlog   func(string)\n", "\tlog   func(string)\n\tlast  bool\n"},
	)
	p.put(t, "build/v2.0.0/conn/new.go", "package conn\n")

	before := p.read(t, "pool/overlay.go")
	list, err := p.Extract(t.Context(), p.output(), true)
	require.NoError(t, err)
	require.Len(t, list, 4)
	require.Equal(t, before, p.read(t, "pool/overlay.go"), "a dry run changes nothing")

	list, err = p.Extract(t.Context(), p.output(), false)
	require.NoError(t, err)
	require.Len(t, list, 4)
	require.Equal(t, "package pool\n\nfunc whole() { Below() }\n", p.read(t, "pool/whole.go"))
	require.Equal(t, `{"a": 1}`, p.read(t, "pool/testdata/case.json"))
	require.Equal(t, "package conn\n", p.read(t, "conn/new.go"))
	want := strings.NewReplacer("return nil }", "return new(sync.Mutex) }",
		"func Below() {}\n", "func Below() {}\n\nfunc more() {}\n",
		"bounds the waiting connections", "bounds those that wait",
		"log   func(string)\n", "log   func(string)\n\tlast  bool\n").Replace(string(extractable["pool/overlay.go"]))
	requireText(t, want, p.read(t, "pool/overlay.go"))

	edited, err := filetree.Read(p.output().Dir)
	require.NoError(t, err)
	require.NoError(t, build(t, p, false), "what has been extracted is no edit any more")
	rebuilt, err := filetree.Read(p.output().Dir)
	require.NoError(t, err)
	require.Equal(t, edited, rebuilt)
	list, err = p.Extract(t.Context(), p.output(), false)
	require.NoError(t, err)
	require.Empty(t, list)
}

func TestExtractRefused(t *testing.T) {
	t.Parallel()
	p := extraction(t,
		[3]string{"pool/whole.go", "whole() {}", "whole() { Below() }"},
		[3]string{"pool/pool.go", "\treturn p.used, nil\n", "\treturn 7, nil\n"},
		[3]string{"pool/pool.go", "\t\"time\"\n", "\t\"time\"\n\t\"unsafe\"\n"},
		[3]string{"README.md", "A module.\n", "Our module.\n"},
	)
	p.put(t, "build/v2.0.0/notes.txt", "to do\n")
	require.NoError(t, os.Remove(filepath.Join(p.output().Dir, "event", "event.go")))
	_, err := p.Extract(t.Context(), p.output(), false)
	require.EqualError(t, err, `build/v2.0.0/README.md:1: an edit inside upstream's text (outside any declaration), which this repository does not hold
  fix: write a //fork:replace or //fork:wrap of it into the overlay, then go run ./tools/cmd/mongofork build --force
build/v2.0.0/event/event.go: a deleted file is upstream's: an overlay cannot remove files
  fix: go run ./tools/cmd/mongofork build --force to drop the edit
build/v2.0.0/notes.txt: a new file outside the overlay's folders
  fix: move it to an overlay folder, or remove it
build/v2.0.0/pool/pool.go:9: an edit inside upstream's text (outside any declaration), which this repository does not hold
  fix: write a //fork:replace or //fork:wrap of it into the overlay, then go run ./tools/cmd/mongofork build --force
build/v2.0.0/pool/pool.go:45: an edit inside upstream's text (method Pool.Get), which this repository does not hold
  fix: write a //fork:replace or //fork:wrap of it into the overlay, then go run ./tools/cmd/mongofork build --force`)
	require.Equal(t, string(extractable["pool/whole.go"]), p.read(t, "pool/whole.go"), "one problem, and nothing is changed")
}

func TestExtractDeletedOverlayFile(t *testing.T) {
	t.Parallel()
	p := extraction(t)
	require.NoError(t, os.Remove(filepath.Join(p.output().Dir, "pool", "whole.go")))
	_, err := p.Extract(t.Context(), p.output(), false)
	require.EqualError(t, err, "build/v2.0.0/pool/whole.go: a deleted file is not extracted\n  fix: git rm pool/whole.go && go run ./tools/cmd/mongofork build --force")
}

func TestExtractUnformatted(t *testing.T) {
	t.Parallel()
	p := extraction(t, [3]string{"pool/whole.go", "whole() {}", "whole() {  }"})
	_, err := p.Extract(t.Context(), p.output(), false)
	require.EqualError(t, err, "build/v2.0.0/pool/whole.go: the file is not gofmt-formatted\n  fix: gofmt -w build/v2.0.0/pool/whole.go")
}

func TestExtractBothChanged(t *testing.T) {
	t.Parallel()
	p := extraction(t, [3]string{"pool/whole.go", "whole() {}", "whole() { Below() }"})
	p.put(t, "pool/whole.go", "package pool\n\nfunc whole() { Added() }\n")
	_, err := p.Extract(t.Context(), p.output(), false)
	require.ErrorContains(t, err, "build/v2.0.0/pool/whole.go: the overlay has changed since the build too")
	require.Contains(t, p.read(t, "pool/whole.go"), "Added()")
}

// gofmt has to lay out a struct anew that upstream wrote on one line.
func TestExtractReflowed(t *testing.T) {
	t.Parallel()
	p := builtProject(t, overlayOf("//fork:extend a third\ntype Pair struct{ middle int }\n"))
	require.NoError(t, build(t, p, false))
	p.edit(t, "build/v2.0.0/pool/pool.go", "\tmiddle int\n", "\tmiddle string\n")
	_, err := p.Extract(t.Context(), p.output(), false)
	require.ErrorContains(t, err, "build/v2.0.0/pool/pool.go: gofmt reformatted this file when it was built, so its lines cannot be traced back")
}

func TestExtractNothingBuilt(t *testing.T) {
	t.Parallel()
	p := builtProject(t, extractable)
	list, err := p.Extract(t.Context(), p.output(), false)
	require.NoError(t, err)
	require.Empty(t, list)
}
