package planted

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Switch is the environment variable that has the name of the defect that is on.
const Switch = "PLANTED"

// insertion is what a file gets at an offset.
type insertion struct {
	at   int
	text string
}

// Plant plants defects into a tree. Each is in a copy of its function, which takes the function's place when the defect is on: so the
// tree is built once for all of them.
func Plant(tree string, defects []Defect) error {
	var wrong []error
	files := map[string][]insertion{}
	for i, d := range defects {
		file, insertions, err := d.insertions(filepath.Join(tree, filepath.FromSlash(d.In)), fmt.Sprintf("planted%d", i))
		wrong = append(wrong, err)
		files[file] = append(files[file], insertions...)
	}
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	for file, insertions := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		slices.SortStableFunc(insertions, func(a, b insertion) int { return b.at - a.at }) // from the end
		for _, i := range slices.Compact(insertions) {                                     // of several defects in one function
			data = slices.Insert(data, i.at, []byte(i.text)...)
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, data, parser.PackageClauseOnly)
		if err != nil {
			return err
		}
		on := fmt.Sprintf("package %s\n\nimport \"os\"\n\nvar planted = os.Getenv(%q)\n", parsed.Name, Switch)
		err = errors.Join(os.WriteFile(file, data, 0o600),
			os.WriteFile(filepath.Join(filepath.Dir(file), "planted.go"), []byte(on), 0o600))
		if err != nil {
			return err
		}
	}
	return nil
}

// insertions returns the file of a folder that has the defect's text, and what it gets.
func (d Defect) insertions(folder, prefix string) (file string, insertions []insertion, err error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return "", nil, err
	}
	found := 0
	var data []byte
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			return "", nil, err
		}
		if n := bytes.Count(content, []byte(d.Text)); n > 0 && !strings.HasSuffix(name, "_test.go") {
			found += n
			file, data = name, content
		}
	}
	if found != 1 {
		return "", nil, fmt.Errorf("%s: the entry %q is out of date: the files of %s have its text %d times; mend it there", Table,
			d.Name, d.In, found)
	}
	insertions, err = d.copied(file, data, prefix)
	return file, insertions, err
}

// copied copies the function with the defect's text.
func (d Defect) copied(file string, data []byte, prefix string) (insertions []insertion, err error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, data, 0)
	if err != nil {
		return nil, err
	}
	offset := func(p token.Pos) int { return int(p - parsed.FileStart) }
	text := func(from, to token.Pos) string { return string(data[offset(from):offset(to)]) }
	start := bytes.Index(data, []byte(d.Text))
	for _, decl := range parsed.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || start < offset(f.Pos()) || start+len(d.Text) > offset(f.End()) {
			continue
		}
		// The prefix keeps the name unexported, as tests list the exported ones.
		name := prefix + f.Name.Name
		call := name + "(" + parameters(f.Type.Params) + ")"
		receiver := text(f.Pos(), f.Name.Pos())
		if f.Recv != nil && f.Recv.List[0].Names == nil {
			insertions = append(insertions, insertion{offset(f.Recv.List[0].Type.Pos()), "it "})
			receiver = strings.Replace(receiver, "(", "(it ", 1)
			call = "it." + call
		} else if f.Recv != nil {
			call = parameters(f.Recv) + "." + call
		}
		if f.Type.Results != nil {
			call = "return " + call
		} else {
			call += "; return"
		}
		wrong := strings.Replace(text(f.Name.End(), f.End()), d.Text, d.Instead, 1)
		return append(insertions,
			insertion{offset(f.Body.Lbrace + 1), fmt.Sprintf("\n\tif planted == %q { %s }\n", d.Name, call)},
			insertion{len(data), "\n" + receiver + name + wrong + "\n"}), nil
	}
	return nil, fmt.Errorf("%s: the text of the entry %q is not in a function", Table, d.Name)
}

// parameters returns the names in a list of parameters, as a call has them.
func parameters(list *ast.FieldList) string {
	var all []string
	for _, field := range list.List {
		for _, name := range field.Names {
			all = append(all, name.Name)
			if _, variadic := field.Type.(*ast.Ellipsis); variadic {
				all[len(all)-1] += "..."
			}
		}
	}
	return strings.Join(all, ", ")
}
