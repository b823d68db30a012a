package fork

import (
	"bytes"
	"fmt"
	"go/format"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/command"
	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/forktest"
	"mongofork/tools/fork/git"
	"mongofork/tools/fork/output"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/fork/upstream"
)

const (
	realModulePath = "go.mongodb.org/mongo-driver/v2"
	realBase       = "v2.5.0"

	repositoryRoot = "../.."
)

// realModule returns the driver from the module cache. Without it the test
// is skipped, except in continuous integration, which has to have it.
func realModule(t *testing.T) *upstream.Module {
	t.Helper()
	return forktest.Released(t, realBase)
}

// realProject makes a repository whose upstream is the driver.
func realProject(t *testing.T, files filetree.Tree) *Project {
	t.Helper()
	m := realModule(t)
	all := filetree.Tree{plan.FoldersFile: []byte("x\n"), "x/.keep": nil}
	for name, data := range files {
		all[name] = data
	}
	root := t.TempDir()
	require.NoError(t, all.Write(root))
	p := &Project{Root: root, Base: realBase, Source: forktest.Source{realBase: m.Tree}.Module}
	_, _, err := p.Accept(t.Context(), realModulePath, nil, true)
	require.NoError(t, err)
	return p
}

// eachBase runs a test for each base of the repository, side by side.
func eachBase(t *testing.T, test func(*testing.T, *Project)) {
	t.Helper()
	realModule(t)
	bases, err := (&Project{Root: repositoryRoot}).Bases()
	require.NoError(t, err)
	require.NotEmpty(t, bases)
	for _, base := range bases {
		t.Run(base, func(t *testing.T) {
			t.Parallel()
			test(t, &Project{Root: repositoryRoot, Base: base, Source: upstream.Download})
		})
	}
}

// TestEveryBaseMatchesItsLock is about the repository's own overlay: what is
// changed for one base goes into the others, too.
func TestEveryBaseMatchesItsLock(t *testing.T) {
	t.Parallel()
	eachBase(t, func(t *testing.T, p *Project) {
		_, _, err := p.Assemble(t.Context())
		require.NoError(t, err, "go run ./tools/cmd/mongofork check --base %s", p.Base)
	})
}

// Replacing declarations by themselves in place changes no byte of upstream's
// files: extents, imports and directives are cut exactly.
func TestRealSelfReplacement(t *testing.T) {
	t.Parallel()
	m := realModule(t)
	o := &plan.Overlay{}
	var problems problem.List
	for _, folder := range m.Folders() {
		p := m.Package(folder)
		for _, file := range p.Files {
			if name, text := selfReplacement(t, p, file); text != nil {
				if f := o.ReadFile(name, text, realBase, &problems); f != nil {
					o.Files = append(o.Files, f)
				}
			}
		}
	}
	require.NoError(t, problems.OrNil())
	plan, problems := plan.Match(m, o)
	require.NoError(t, problems.OrNil())
	require.Greater(t, len(plan.Touches), 4000)
	a, err := assemble.Build(plan)
	require.NoError(t, err)
	for name, data := range assemble.Pristine(m) {
		if !bytes.Equal(data, a[name]) {
			t.Errorf("%s differs:\n%s", name, filetree.Diff("upstream", data, "in place", a[name]))
		}
	}
}

// goDirective finds doc comments that end in a directive of another tool.
var goDirective = regexp.MustCompile(`(^|\n)//[a-z]+:[^\n]*\n$`)

// selfReplacement makes an overlay file of the replaceable declarations of one
// of upstream's; nil if there is none.
func selfReplacement(t *testing.T, p *syntax.Package, file *syntax.File) (name string, text []byte) {
	if _, ok := p.PackageOf(file); !ok {
		return "", nil
	}
	var b bytes.Buffer
	for _, group := range file.AST.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "//go:build") && c.Pos() < file.AST.Package {
				fmt.Fprintf(&b, "%s\n\n", c.Text)
			}
		}
	}
	fmt.Fprintf(&b, "package %s\n\n", file.AST.Name.Name)
	for _, spec := range file.AST.Imports {
		fmt.Fprintf(&b, "import %s\n", file.Text(spec.Pos(), spec.End()))
	}
	count := 0
	for _, d := range file.Decls {
		if d.Unnamed() || d.Shared > 1 || d.Grouped() || len(p.Lookup(d.Key)) > 1 || d.Implied() ||
			(d.Gen != nil && d.Gen.Lparen.IsValid()) {
			continue
		}
		start, end := d.Extent()
		code := file.Offset(d.Pos())
		doc := file.Src[start:code]
		fmt.Fprintf(&b, "\n%s", doc)
		if code > start && !goDirective.Match(doc) {
			b.WriteString("//\n") // gofmt keeps prose and directives apart
		}
		fmt.Fprintf(&b, "//fork:replace itself\n%s\n", file.Src[code:end])
		count++
	}
	if count == 0 {
		return "", nil
	}
	text, err := format.Source(b.Bytes())
	require.NoError(t, err, "%s\n%s", file.Path, b.Bytes())
	return path.Join(path.Dir(file.Path), "self_"+path.Base(file.Path)), text
}

// patchOverlay touches the real driver in each of the three ways.
var patchOverlay = filetree.Tree{
	"x/mongo/driver/session/fork.go": []byte(`package session

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

//fork:extend a field of every kind of import
type ClientOptions struct {
	label *strings.Builder
}

// MaxClusterTime is wrapped.
//
//fork:wrap exercise the builder
func MaxClusterTime(ct1, ct2 bson.Raw) bson.Raw {
	if sameClusterTime {
		return ct1
	}
	return upstreamMaxClusterTime(ct1, ct2)
}

// String repeats a letter, and says nothing else.
//
//fork:replace exercise the builder
func (s TransactionState) String() string { return strings.Repeat("t", int(s)) }

const sameClusterTime = false
`),
}

func TestRealPatch(t *testing.T) {
	t.Parallel()
	p := realProject(t, patchOverlay)
	const author = "A Tester <tester@localhost>"
	patched, err := p.Plan(t.Context())
	require.NoError(t, err)
	patch, err := output.Patch(t.Context(), command.Output, patched, "Label sessions", author)
	require.NoError(t, err)
	again, err := output.Patch(t.Context(), command.Output, patched, "Label sessions", author)
	require.NoError(t, err)
	require.Equal(t, string(patch), string(again), "the same sources give the same patch")
	require.Contains(t, string(patch), "\nFrom: A Tester <tester@localhost>\n")
	require.Contains(t, string(patch), "\nSubject: [PATCH] Label sessions\n")
	for line := range strings.Lines(string(patch)) {
		require.False(t, strings.HasPrefix(line, "+") && strings.Contains(line, "fork:"), "a directive: %s", line)
	}

	pristine, err := p.Pristine(t.Context())
	require.NoError(t, err)
	g, done, err := git.New(t.Context(), command.Output, author)
	require.NoError(t, err)
	t.Cleanup(done)
	dir := g.Dir
	g.Commit(pristine, "upstream")
	require.NoError(t, g.Err)
	file := filepath.Join(t.TempDir(), "fork.patch")
	require.NoError(t, os.WriteFile(file, patch, 0o644))
	g.Run("am", "--quiet", file)
	require.NoError(t, g.Err)

	inPlace, err := assemble.Build(patched)
	require.NoError(t, err)
	for name, data := range assemble.Headed(pristine, assemble.Noticed(pristine, inPlace)) {
		applied, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		require.NoError(t, err)
		require.Equal(t, string(data), string(applied), name)
	}
	requireCompiles(t, dir)
}

// requireCompiles compiles the package that patchOverlay touches.
func requireCompiles(t *testing.T, dir string) {
	t.Helper()
	_, err := command.Output(t.Context(), dir, []string{"GOFLAGS=-mod=mod -trimpath", "GOWORK=off"}, "go", "build",
		"./x/mongo/driver/session")
	require.NoError(t, err)
}
