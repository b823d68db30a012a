package fork

import (
	"bytes"
	"fmt"
	"go/format"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/forktest"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
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
