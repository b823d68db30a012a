// Package mutants tests the tests: it makes small changes in our functions of the built fork, all in one copy of it, switches on one after
// the other, and reports which of them no judge notices.
package mutants

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
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

	body  int    // where the function's body begins
	wrong string // the body with the change
}

// For reports whether a judge looks for the mutant.
func (m Mutant) For(judge string) bool { return m.Parallel == (judge == Parallel) }

func (m Mutant) String() string { return fmt.Sprintf("%s:%d %s", m.File, m.Line, m.Change) }

// function is a function of a package.
type function struct {
	*ast.FuncDecl
	file, name, body string
	text             []byte // of its file
	at               *token.File
}

// source returns a part of the function's file.
func (f function) source(from, to token.Pos) string {
	return string(f.text[f.at.Offset(from):f.at.Offset(to)])
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
		lines := map[string]bool{}
		for _, f := range theirs {
			lines[f.name+f.body] = true
			for line := range strings.Lines(f.body) {
				lines[f.name+strings.TrimSpace(line)] = true
			}
		}
		for _, f := range ours {
			if lines[f.name+f.body] {
				continue
			}
			for _, m := range f.mutants(lines) {
				line := fmt.Sprintf("%s:%06d", m.File, m.Line)
				byLine[line] = append(byLine[line], m)
			}
		}
		return errors.Join(err, theirErr)
	})
	lines := slices.Sorted(maps.Keys(byLine))
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
		for _, decl := range file.Decls {
			if f, is := decl.(*ast.FuncDecl); is && f.Body != nil {
				body := string(text[at.Offset(f.Body.Pos()):at.Offset(f.Body.End())])
				all = append(all, function{f, path.Join(folder, filepath.Base(name)), key(f), body, text, at})
			}
		}
	}
	return all, err
}

// key names a function in its package. One of upstream that is wrapped has its former name: it begins with "upstream" then, and ends with
// a number if it is wrapped again.
func key(f *ast.FuncDecl) string {
	name := strings.ToLower(f.Name.Name)
	if wrapped, is := strings.CutPrefix(name, "upstream"); is {
		name = strings.TrimRight(wrapped, "0123456789")
	}
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
	lines := strings.Split(string(f.text), "\n")
	for _, e := range f.edits() {
		line := f.at.Line(e.from)
		if theirs[f.name+strings.TrimSpace(lines[line-1])] {
			continue
		}
		wrong := f.source(f.Body.Pos(), e.from) + e.text + f.source(e.to, f.Body.End())
		all = append(all, f.mutant(Defect{}, line, e.what, wrong))
	}
	return all
}

// mutant returns one with another body.
func (f function) mutant(d Defect, line int, change, wrong string) Mutant {
	if f.Type.Results == nil {
		wrong = "{" + wrong + "; return }" // it may not end with a return
	}
	return Mutant{d, f.file, line, change, f.at.Offset(f.Body.Pos()), wrong}
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
				before, _, _ := strings.Cut(f.body, d.Text)
				line := f.at.Line(f.Body.Pos()) + strings.Count(before, "\n")
				all = append(all, f.mutant(d, line, d.Name, strings.Replace(f.body, d.Text, d.Instead, 1)))
			}
		}
		if count != 1 {
			wrong = errors.Join(wrong, fmt.Errorf("%s: the entry %q is out of date: the functions of %s contain its text %d "+
				"times instead of once; mend it there", Table, d.Name, d.In, count))
		}
	}
	return all, wrong
}

// Judge looks for a mutant that is switched on, and says what has noticed it, if anything.
type Judge func(context.Context, Mutant) (noticed string, err error)

// Parallel is the judge that needs all processors, and no other one beside it.
const Parallel = "parallel"

// TimedOut is what a judge says if it did not end.
const TimedOut = "timed out"

// Run lets judges look for each mutant, two at a time, the next one if those before have not noticed it. As it goes it prints what survives,
// or all if it is verbose. It returns the share that was noticed, without those that timed out.
func Run(ctx context.Context, mutants []Mutant, names []string, judges map[string]Judge, verbose bool, out io.Writer) (float64, error) {
	survived, late, mu, alone, running := 0, 0, sync.Mutex{}, sync.RWMutex{}, errgroup.Group{}
	running.SetLimit(2)
	for _, m := range mutants {
		running.Go(func() error {
			noticed, err := look(ctx, m, names, judges, &alone)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				return fmt.Errorf("%v: %w", m, err)
			case noticed == "":
				survived++
			case strings.HasSuffix(noticed, TimedOut):
				late++
			}
			if verbose || noticed == "" {
				_, err = fmt.Fprintf(out, "%s: %v\n", cmp.Or(noticed, "survived"), m)
			}
			return err
		})
	}
	if err := running.Wait(); err != nil {
		return 0, err
	}
	share := 1 - float64(survived)/float64(max(1, len(mutants)-late))
	_, err := fmt.Fprintf(out, "%d mutants: %d timed out, %d survived; %.1f %% of the others are noticed\n", len(mutants), late, survived, 100*share)
	return share, err
}

// look returns which judge has noticed a mutant, and how.
func look(ctx context.Context, m Mutant, names []string, judges map[string]Judge, alone *sync.RWMutex) (noticed string, err error) {
	for _, name := range names {
		if !m.For(name) {
			continue
		}
		lock := alone.RLocker()
		if name == Parallel {
			lock = alone
		}
		lock.Lock()
		noticed, err = judges[name](ctx, m)
		lock.Unlock()
		if err != nil || noticed != "" {
			return name + ": " + noticed, err
		}
	}
	return "", ctx.Err()
}
