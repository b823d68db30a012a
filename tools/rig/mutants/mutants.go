// Package mutants tests the tests: it makes small changes in our functions of the built fork, all in one copy of it, switches on one after
// the other, and reports which of them no judge notices.
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

// Table is the file of the mutants that no operator makes, below the root of the repository.
const Table = "etc/planted.yaml"

// Defect is a mutant with a name: a few lines of ours that are replaced by wrong ones.
type Defect struct {
	// Name says what is wrong.
	Name string
	// In is the package's folder. Exactly one of its functions contains Text, once; Instead replaces it.
	In, Text, Instead string
	// Parallel says that only goroutines on several processors meet the defect. The judge of that name looks for it, and no other.
	Parallel bool
}

// Mutant is one of our functions with a change.
type Mutant struct {
	Defect
	// File is below the root of the tree; Line and Change say what is different.
	File   string
	Line   int
	Change string

	met   int    // the line that whoever meets the change has run
	body  int    // where the function's body begins
	wrong string // the body with the change
}

func (m Mutant) String() string { return fmt.Sprintf("%s:%d %s", m.File, m.Line, m.Change) }

// function is a function of a package.
type function struct {
	*ast.FuncDecl
	file, name, body string
	text             []byte // of its file
	at               *token.File
	constants        map[string]bool // the package's
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
		bodies, lines := map[string]bool{}, map[string]bool{}
		for _, f := range theirs {
			bodies[f.body] = true
			for line := range strings.Lines(f.body) {
				lines[f.name+strings.TrimSpace(line)] = true
			}
		}
		for _, f := range ours {
			if bodies[f.body] {
				continue
			}
			for _, m := range f.mutants(lines) {
				line := fmt.Sprintf("%s:%06d", m.File, m.Line)
				byLine[line] = append(byLine[line], m)
			}
		}
		return errors.Join(err, theirErr)
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

// functions returns what the files of a package declare, without tests and what is for other machines.
func functions(tree, folder string) (all []function, err error) {
	names, err := filepath.Glob(filepath.Join(tree, folder, "*.go"))
	constants := map[string]bool{}
	for _, name := range names {
		fits, fitsErr := build.Default.MatchFile(filepath.Dir(name), filepath.Base(name))
		if err = errors.Join(err, fitsErr); err != nil || !fits || strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, readErr := os.ReadFile(name)
		positions := token.NewFileSet()
		file, parseErr := parser.ParseFile(positions, name, text, parser.SkipObjectResolution)
		if err = errors.Join(err, readErr, parseErr); err != nil {
			return nil, err
		}
		at := positions.File(file.FileStart)
		ast.Inspect(file, func(node ast.Node) bool {
			switch decl := node.(type) {
			case *ast.FuncDecl:
				if decl.Body != nil {
					body := string(text[at.Offset(decl.Body.Pos()):at.Offset(decl.Body.End())])
					all = append(all, function{decl, path.Join(folder, filepath.Base(name)), key(decl), body, text, at, constants})
				}
				return false
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if values, is := spec.(*ast.ValueSpec); is && decl.Tok == token.CONST {
						for _, name := range values.Names {
							constants[name.Name] = true
						}
					}
				}
			}
			return true
		})
	}
	return all, err
}

// key names a function in its package. One of upstream that is wrapped, which then begins with "upstream", has its former name.
func key(f *ast.FuncDecl) string {
	name := strings.ToLower(strings.TrimPrefix(f.Name.Name, "upstream"))
	if f.Recv == nil {
		return name
	}
	receiver := f.Recv.List[0].Type
	if pointer, is := receiver.(*ast.StarExpr); is {
		receiver = pointer.X
	}
	return fmt.Sprint(receiver) + "." + name
}

// mutants returns those of a function, but for lines that upstream's function of that name has.
func (f function) mutants(theirs map[string]bool) (all []Mutant) {
	o := operators{constants: f.constants, text: func(from, to token.Pos) string {
		return string(f.text[f.at.Offset(from):f.at.Offset(to)])
	}}
	o.function(f.Type, f.Body)
	lines := strings.Split(string(f.text), "\n")
	for _, e := range o.edits {
		line := f.at.Line(e.from)
		if theirs[f.name+strings.TrimSpace(lines[line-1])] {
			continue
		}
		wrong := o.text(f.Body.Pos(), e.from) + e.text + o.text(e.to, f.Body.End())
		all = append(all, f.mutant(Defect{}, line, f.at.Line(e.met), e.what, wrong))
	}
	return all
}

// mutant returns one with another body.
func (f function) mutant(d Defect, line, met int, change, wrong string) Mutant {
	if f.Type.Results == nil {
		wrong = "{" + wrong + "; return }" // it may not end with a return
	}
	return Mutant{d, f.file, line, change, met, f.at.Offset(f.Body.Pos()), wrong}
}

// Named returns the mutants of a table.
func Named(tree string, defects []Defect) (all []Mutant, wrong error) {
	for _, d := range defects {
		in, err := functions(tree, d.In)
		if err != nil {
			return nil, err
		}
		count := 0
		for _, f := range in {
			n := strings.Count(f.body, d.Text)
			if count += n; n == 1 {
				begin := f.at.Line(f.Body.Pos())
				line := begin + strings.Count(f.body[:strings.Index(f.body, d.Text)], "\n")
				all = append(all, f.mutant(d, line, begin, d.Name, strings.Replace(f.body, d.Text, d.Instead, 1)))
			}
		}
		if count != 1 {
			wrong = errors.Join(wrong, fmt.Errorf("%s: the entry %q is out of date: the functions of %s contain its text %d times "+
				"instead of once; mend it there", Table, d.Name, d.In, count))
		}
	}
	return all, wrong
}
