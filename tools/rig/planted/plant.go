package planted

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mongofork/tools/fork/filetree"
)

// Switch is the environment variable that has the name of the defect that is on.
const Switch = "PLANTED"

// place is where the body of a function begins.
type place struct {
	file, pkg string
	offset    int
}

// Plant plants defects into a tree. Each is in a copy of its function's body, which stands before that and runs instead when the defect
// is on: so the tree is built once for all of them.
func Plant(tree string, defects []Defect) error {
	var wrong []error
	copies := map[place]string{}
	for _, d := range defects {
		at, body, err := d.copied(filepath.Join(tree, filepath.FromSlash(d.In)))
		wrong = append(wrong, err)
		copies[at] += fmt.Sprintf("\n\tif planted == %q %s\n", d.Name, body)
	}
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	// From the end of each file, so that the other offsets stay right.
	for _, at := range slices.SortedFunc(maps.Keys(copies), func(a, b place) int { return b.offset - a.offset }) {
		data, err := os.ReadFile(at.file)
		if err != nil {
			return err
		}
		on := fmt.Sprintf("package %s\n\nimport \"os\"\n\nvar planted = os.Getenv(%q)\n", at.pkg, Switch)
		data = slices.Insert(data, at.offset, []byte(copies[at])...)
		err = filetree.Tree{filepath.Base(at.file): data, "planted.go": []byte(on)}.Write(filepath.Dir(at.file))
		if err != nil {
			return err
		}
	}
	return nil
}

// copied returns the body of the function of a folder that has the defect's text, with what replaces that, and its place.
func (d Defect) copied(folder string) (at place, body string, err error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return at, "", err
	}
	found, text := 0, ""
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			return at, "", err
		}
		if n := strings.Count(string(content), d.Text); n > 0 && !strings.HasSuffix(name, "_test.go") {
			found += n
			at.file, text = name, string(content)
		}
	}
	if found != 1 {
		return at, "", fmt.Errorf("%s: the entry %q is out of date: the files of %s have its text %d times; mend it there", Table,
			d.Name, d.In, found)
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), at.file, text, 0)
	if err != nil {
		return at, "", err
	}
	at.pkg = parsed.Name.Name
	for _, decl := range parsed.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		start := int(f.Body.Lbrace - parsed.FileStart)
		body := text[start:int(f.Body.End()-parsed.FileStart)]
		wrong := strings.Replace(body, d.Text, d.Instead, 1)
		if wrong == body {
			continue
		}
		if f.Type.Results == nil {
			wrong = "{" + wrong + "; return }" // which may not end with a return
		}
		at.offset = start + 1
		return at, wrong, nil
	}
	return at, "", fmt.Errorf("%s: the text of the entry %q is not in a function", Table, d.Name)
}
