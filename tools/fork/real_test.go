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

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/forktest"
	"mongofork/tools/fork/git"
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

// Replacing declarations by themselves in place changes no byte of upstream's
// files: extents, imports and directives are cut exactly.
func TestRealSelfReplacement(t *testing.T) {
	t.Parallel()
	m := forktest.Released(t, realBase)
	whole := &plan.Layer{}
	var problems problem.List
	for _, folder := range m.Folders() {
		for _, file := range m.Files(folder) {
			if name, text := selfReplacement(t, m, file); text != nil {
				whole.Files = append(whole.Files, plan.ReadFile(name, text, &problems))
			}
		}
	}
	require.NoError(t, problems.OrNil())
	plan, problems := plan.Match(m, whole)
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
func selfReplacement(t *testing.T, m *upstream.Module, file *syntax.File) (name string, text []byte) {
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
		if d.Shared > 1 || d.Grouped() || len(m.Lookup(d.Key)) != 1 || d.Implied() ||
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

// The patch makes upstream's tree the fork's. It may take ten seconds: git commits the whole driver twice, and applies the patch.
func TestRealPatch(t *testing.T) {
	t.Parallel()
	forktest.Released(t, realBase)
	p := &Project{Root: repositoryRoot, Module: realModulePath, Base: realBase, Source: upstream.Download}
	matched, tree, err := p.Assemble(t.Context())
	require.NoError(t, err)
	const author = "A Tester <tester@localhost>"
	patch, err := p.Patch(t.Context(), "Label sessions", author)
	require.NoError(t, err)
	require.Contains(t, string(patch), "\nFrom: A Tester <tester@localhost>\n")
	require.Contains(t, string(patch), "\nSubject: [PATCH] Label sessions\n")
	require.NotRegexp(t, `(?m)^\+.*//fork:`, string(patch), "a directive")

	g, done, err := git.New(t.Context(), author)
	require.NoError(t, err)
	t.Cleanup(done)
	pristine := assemble.Pristine(matched.Module)
	g.Commit(pristine, "upstream")
	file := filepath.Join(t.TempDir(), "fork.patch")
	require.NoError(t, os.WriteFile(file, patch, 0o644))
	g.Run("am", "--quiet", file)
	require.NoError(t, g.Err)
	require.NoError(t, os.RemoveAll(filepath.Join(g.Dir, ".git")))
	applied, err := filetree.Read(g.Dir)
	require.NoError(t, err)
	want := assemble.Headed(pristine, assemble.Noticed(pristine, tree))
	require.NoError(t, assemble.Format(matched.Module, want))
	require.Empty(t, filetree.Changed(want, applied))
}
