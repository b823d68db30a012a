// Package mutants tests the tests: it makes small changes in our functions of the built fork, all in one copy of it, switches on one after
// the other, and reports which no test notices.
package mutants

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Mutant is one of our functions with a change.
type Mutant struct {
	// Name is the value of the switch.
	Name string
	// File is below the root of the tree; Line and Change say what is different.
	File   string
	Line   int
	Change string

	body  int    // where the function's body begins
	wrong string // the body with the change
}

func (m Mutant) String() string { return fmt.Sprintf("%s:%d %s", m.File, m.Line, m.Change) }

// function is a function of a package.
type function struct {
	*ast.FuncDecl
	name, body string
	text       []byte // of its file
	at         *token.File
}

// Choose chooses mutants of a tree at random, each of another line of what the untouched module does not have.
func Choose(tree, pristine string, seed uint64, count int) (chosen []Mutant, err error) {
	byLine := map[string][]Mutant{}
	err = fs.WalkDir(os.DirFS(tree), ".", func(folder string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || !entry.IsDir():
			return err
		case slices.Contains([]string{"testdata", "examples"}, entry.Name()), // and what only tests use:
			slices.Contains([]string{"internal/scripted", "internal/integration", "internal/integtest"}, folder):
			return fs.SkipDir
		}
		ours, err := functions(tree, folder)
		theirs, theirErr := functions(pristine, folder)
		if err := errors.Join(err, theirErr); err != nil {
			return err
		}
		for file, functions := range ours.byFile {
			for _, f := range functions {
				for _, m := range f.mutants(theirs, ours.constants) {
					m.File = path.Join(folder, file)
					line := fmt.Sprintf("%s:%06d", m.File, m.Line)
					byLine[line] = append(byLine[line], m)
				}
			}
		}
		return nil
	})
	lines := make([]string, 0, len(byLine))
	for line := range byLine {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	random := rand.New(rand.NewPCG(seed, 0))
	random.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	for i, line := range lines[:min(count, len(lines))] {
		m := byLine[line][random.IntN(len(byLine[line]))]
		m.Name = fmt.Sprintf("m%d", i)
		chosen = append(chosen, m)
	}
	return chosen, err
}

// declared is what the files of a package declare, without tests and what is for other machines.
type declared struct {
	byFile    map[string][]function
	lines     map[string]map[string]bool // of each function, by its name
	bodies    map[string]bool
	constants map[string]bool
}

func functions(tree, folder string) (d declared, err error) {
	d = declared{map[string][]function{}, map[string]map[string]bool{}, map[string]bool{}, map[string]bool{}}
	names, err := filepath.Glob(filepath.Join(tree, folder, "*.go"))
	for _, name := range names {
		fits, fitsErr := build.Default.MatchFile(filepath.Dir(name), filepath.Base(name))
		if err = errors.Join(err, fitsErr); err != nil || !fits || strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, readErr := os.ReadFile(name)
		positions := token.NewFileSet()
		file, parseErr := parser.ParseFile(positions, name, text, parser.SkipObjectResolution)
		if err = errors.Join(err, readErr, parseErr); err != nil {
			return d, err
		}
		at := positions.File(file.FileStart)
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.GenDecl:
				d.constant(decl)
			case *ast.FuncDecl:
				if decl.Body == nil {
					continue
				}
				f := function{decl, key(decl), string(text[at.Offset(decl.Body.Pos()):at.Offset(decl.Body.End())]), text, at}
				d.byFile[filepath.Base(name)] = append(d.byFile[filepath.Base(name)], f)
				d.bodies[f.body], d.lines[f.name] = true, map[string]bool{}
				for line := range strings.Lines(f.body) {
					d.lines[f.name][strings.TrimSpace(line)] = true
				}
			}
		}
	}
	return d, err
}

func (d declared) constant(decl *ast.GenDecl) {
	for _, spec := range decl.Specs {
		if values, is := spec.(*ast.ValueSpec); is && decl.Tok == token.CONST {
			for _, name := range values.Names {
				d.constants[name.Name] = true
			}
		}
	}
}

// key names a function in its package.
func key(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	receiver := f.Recv.List[0].Type
	if pointer, is := receiver.(*ast.StarExpr); is {
		receiver = pointer.X
	}
	return fmt.Sprint(receiver) + "." + f.Name.Name
}

// mutants returns those of a function, if it is ours, in lines that are.
func (f function) mutants(theirs declared, constants map[string]bool) (all []Mutant) {
	if theirs.bodies[f.body] {
		return nil
	}
	o := operators{constants: constants, text: func(from, to token.Pos) string {
		return string(f.text[f.at.Offset(from):f.at.Offset(to)])
	}}
	o.function(f.Type, f.Body)
	lines := strings.Split(string(f.text), "\n")
	for _, e := range o.edits {
		line := f.at.Line(e.from)
		if theirs.lines[f.name][strings.TrimSpace(lines[line-1])] {
			continue
		}
		wrong := o.text(f.Body.Pos(), e.from) + e.text + o.text(e.to, f.Body.End())
		all = append(all, Mutant{Line: line, Change: e.what, body: f.at.Offset(f.Body.Pos()), wrong: f.whole(wrong)})
	}
	return all
}

// whole returns a body that runs instead of the function's own.
func (f function) whole(body string) string {
	if f.Type.Results == nil {
		return "{" + body + "; return }" // it may not end with a return
	}
	return body
}
