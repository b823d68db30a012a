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

// Plant plants defects into a tree. Each is in a copy of its function, which takes the function's place when the defect is on: so the
// tree is built once for all of them.
func Plant(tree string, defects []Defect) error {
	var wrong []error
	files := map[string][]change{}
	for i, d := range defects {
		file, c, err := d.change(tree, i)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		files[file] = append(files[file], c)
	}
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	for file, changes := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		slices.SortStableFunc(changes, func(a, b change) int { return b.at - a.at })
		for _, c := range changes {
			data = append(slices.Insert(data, c.at, []byte(c.guard)...), c.function...)
			data = slices.Insert(data, c.unnamed, []byte(c.receiver)...)
		}
		name := changes[0].in
		planted := fmt.Sprintf("package %s\n\nimport \"os\"\n\nvar planted = os.Getenv(%q)\n", name, Switch)
		err = errors.Join(os.WriteFile(file, data, 0o600),
			os.WriteFile(filepath.Join(filepath.Dir(file), "planted.go"), []byte(planted), 0o600))
		if err != nil {
			return err
		}
	}
	return nil
}

// change is what a file gets: at the beginning of a function, and in the end.
type change struct {
	at              int
	guard, function string
	in              string // the package's name
	unnamed         int    // where the receiver has no name
	receiver        string // and which it gets
}

// change returns the file with the defect's text, and how it changes.
func (d Defect) change(tree string, number int) (file string, c change, err error) {
	names, err := filepath.Glob(filepath.Join(tree, filepath.FromSlash(d.In), "*.go"))
	if err != nil {
		return "", c, err
	}
	found := 0
	var data []byte
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return "", c, err
		}
		if n := bytes.Count(content, []byte(d.Text)); n > 0 {
			found += n
			file, data = name, content
		}
	}
	if found != 1 {
		return "", c, fmt.Errorf("%s: the entry %q is out of date: the files of %s have its text %d times; mend it there", Table,
			d.Name, d.In, found)
	}
	c, err = d.copied(file, data, number)
	return file, c, err
}

// copied copies the function with the defect's text.
func (d Defect) copied(file string, data []byte, number int) (change, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, data, 0)
	if err != nil {
		return change{}, err
	}
	offset := func(p token.Pos) int { return int(p - parsed.FileStart) }
	start := bytes.Index(data, []byte(d.Text))
	for _, decl := range parsed.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || start < offset(f.Pos()) || start+len(d.Text) > offset(f.End()) {
			continue
		}
		name := fmt.Sprintf("planted%d%s", number, f.Name.Name) // not exported, as tests list the exported ones
		call, c := name, change{at: offset(f.Body.Lbrace) + 1, in: parsed.Name.Name}
		if f.Recv != nil && len(f.Recv.List[0].Names) == 0 {
			c.unnamed, c.receiver = offset(f.Recv.List[0].Type.Pos()), "it "
			f.Recv.List[0].Names = []*ast.Ident{ast.NewIdent("it")}
		}
		if f.Recv != nil {
			call = names(f.Recv) + "." + call
		}
		call += "(" + names(f.Type.Params) + ")"
		if f.Type.Results != nil {
			call = "return " + call
		} else {
			call += "; return"
		}
		receiver := string(data[offset(f.Pos())+len("func ") : offset(f.Name.Pos())])
		c.guard = fmt.Sprintf("\n\tif planted == %q { %s }\n", d.Name, call)
		c.function = "\nfunc " + strings.Replace(receiver, "(", "("+c.receiver, 1) + name +
			strings.Replace(string(data[offset(f.Name.End()):offset(f.End())]), d.Text, d.Instead, 1) + "\n"
		return c, nil
	}
	return change{}, fmt.Errorf("%s: the text of the entry %q is not in a function", Table, d.Name)
}

// names returns the names in a list of parameters, as a call has them.
func names(list *ast.FieldList) string {
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
