// Package mutants tests the tests: it makes small changes in our functions of the built fork, all in one copy of it, switches on one after
// the other, and reports which of them no judge notices.
package mutants

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/process"
)

// Table is the file of the mutants that no operator makes, below the root of the repository.
const Table = "etc/planted.yaml"

// Mutant is one of our functions with a change.
type Mutant struct {
	Name string // that of an entry of the table, which says what is wrong, or a random mutant's number
	// In is the package's folder of an entry. Exactly one of its functions contains Text, once; Instead replaces it.
	In, Text, Instead string
	// Parallel says that only goroutines on several processors meet the defect. The judge of that name looks for it, and no other.
	Parallel bool

	of          function
	line        int
	what, wrong string // the change in words, and the body of the function with it
}

func (m Mutant) String() string { return fmt.Sprintf("%s:%d %s", m.of.file, m.line, m.what) }

// function is a function of a tree. Its key tells it from all others.
type function struct {
	*ast.FuncDecl
	file, in, key, body, text string // its file and package, and the file's text
	at                        *token.File
}

func (f function) source(from, to token.Pos) string { return f.text[f.at.Offset(from):f.at.Offset(to)] }

// Choose chooses mutants of a tree at random, each of another line of what the untouched module does not have.
func Choose(tree, pristine string, seed uint64, count int) (chosen []Mutant, err error) {
	ours, err := functions(tree)
	upstreams, upstreamErr := functions(pristine)
	theirs, byLine := map[string]bool{}, map[string][]Mutant{}
	for _, f := range upstreams {
		theirs[f.key+f.body] = true
		for line := range strings.Lines(f.body) {
			theirs[f.key+strings.TrimSpace(line)] = true
		}
	}
	for _, f := range ours {
		if !theirs[f.key+f.body] {
			f.mutants(theirs, byLine)
		}
	}
	lines := slices.Sorted(maps.Keys(byLine))
	random := rand.New(rand.NewPCG(seed, 0))
	random.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	for i, line := range lines[:min(count, len(lines))] {
		m := byLine[line][random.IntN(len(byLine[line]))]
		m.Name = fmt.Sprintf("m%d", i)
		chosen = append(chosen, m)
	}
	return chosen, errors.Join(err, upstreamErr)
}

// wrapped is the lower-case name in the fork of a function of upstream's that is wrapped, perhaps again.
var wrapped = regexp.MustCompile(`^upstream(.*?)\d*$`)

// functions returns the functions of a tree, without tests and what is for other machines. One that is wrapped has the key of its name at
// upstream.
func functions(tree string) (all []function, err error) {
	err = fs.WalkDir(os.DirFS(tree), ".", func(name string, entry fs.DirEntry, err error) error {
		folder, base := path.Split(name)
		if slices.Contains([]string{"testdata", "examples"}, base) || // and what only tests use:
			slices.Contains([]string{"internal/scripted", "internal/integration", "internal/integtest"}, name) {
			return fs.SkipDir
		}
		if err != nil || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return err
		}
		fits, err := build.Default.MatchFile(filepath.Join(tree, folder), base)
		text, readErr := os.ReadFile(filepath.Join(tree, name))
		positions := token.NewFileSet()
		file, parseErr := parser.ParseFile(positions, name, text, parser.SkipObjectResolution)
		if err := errors.Join(err, readErr, parseErr); err != nil || !fits {
			return err
		}
		for _, decl := range file.Decls {
			if f, is := decl.(*ast.FuncDecl); is && f.Body != nil {
				key := wrapped.ReplaceAllString(strings.ToLower(f.Name.Name), "$1")
				if f.Recv != nil {
					key = strings.TrimPrefix(types.ExprString(f.Recv.List[0].Type), "*") + "." + key
				}
				of := function{f, name, file.Name.Name, folder + key, "", string(text), positions.File(file.FileStart)}
				of.body = of.source(f.Body.Pos(), f.Body.End())
				all = append(all, of)
			}
		}
		return nil
	})
	return all, err
}

// stays matches a statement without which the function does not compile, or whose absence only the race detector or a profile sees.
var stays = regexp.MustCompile(`^_ = |^[\w, ]+ := |\.R?(Lock|Unlock)\(\)$|^defer \w+\.Stop\(\)$|\.Put\(\w+\)$`)

// mutants adds those of a function by their lines, but for lines of upstream's function of that name, and sizes. Some may not compile.
func (f function) mutants(theirs map[string]bool, byLine map[string][]Mutant) {
	lines := strings.Split(f.text, "\n")
	replace := func(what string, node ast.Node, to token.Pos, text string) {
		line := f.at.Line(node.Pos())
		if !theirs[f.key+strings.TrimSpace(lines[line-1])] {
			was := strings.Join(strings.Fields(f.source(node.Pos(), node.End())), " ")
			wrong := f.source(f.Body.Pos(), node.Pos()) + text + f.source(to, f.Body.End())
			key := fmt.Sprintf("%s:%06d", f.file, line)
			byLine[key] = append(byLine[key], Mutant{of: f, line: line, what: what + ": " + was, wrong: wrong})
		}
	}
	negate := func(conditions ...ast.Expr) { // what an if, a for, or the cases of a switch without a tag ask
		for _, c := range conditions {
			if c != nil {
				replace("negated", c, c.End(), "!("+f.source(c.Pos(), c.End())+")")
			}
		}
	}
	ast.Inspect(f.Body, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.IfStmt:
			negate(n.Cond)
		case *ast.ForStmt:
			negate(n.Cond)
		case *ast.SwitchStmt:
			for _, clause := range n.Body.List {
				if n.Tag == nil {
					negate(clause.(*ast.CaseClause).List...)
				}
			}
		case *ast.ExprStmt, *ast.DeferStmt, *ast.AssignStmt, *ast.IncDecStmt, *ast.GoStmt, *ast.SendStmt:
			if !stays.MatchString(f.source(n.Pos(), n.End())) {
				replace("removed", n, n.End(), "")
			}
		case *ast.ReturnStmt:
			for _, last := range n.Results[max(0, len(n.Results)-1):] { // it may be an error
				_, call := last.(*ast.CallExpr)
				if name, is := last.(*ast.Ident); call || is && strings.HasPrefix(strings.ToLower(name.Name), "err") {
					replace("nil instead of the error", last, last.End(), "nil")
				}
			}
		case *ast.BasicLit:
			if i, e := strconv.ParseInt(n.Value, 0, 64); e == nil && !strings.Contains(lines[f.at.Line(n.Pos())-1], "make(") {
				replace("one more", n, n.End(), strconv.FormatInt(i+1, 10))
			}
		case *ast.Ident:
			if opposite := map[string]string{"true": "false", "false": "true"}[n.Name]; opposite != "" {
				replace("the opposite", n, n.End(), opposite)
			}
		case *ast.CompositeLit:
			for i, element := range n.Elts {
				to := n.Rbrace
				if i < len(n.Elts)-1 {
					to = n.Elts[i+1].Pos()
				}
				replace("left out", element, to, "")
			}
		}
		return true
	})
}

// Named returns the mutants of a table.
func Named(tree string, table []Mutant) (all []Mutant, wrong error) {
	in, err := functions(tree)
	for _, m := range table {
		count := 0
		for _, f := range in {
			if parts := strings.Split(f.body, m.Text); path.Dir(f.file) == m.In && len(parts) > 1 {
				count += len(parts) - 1
				m.of, m.what, m.wrong = f, m.Name, strings.Join(parts, m.Instead)
				m.line = f.at.Line(f.Body.Pos()) + strings.Count(parts[0], "\n")
				all = append(all, m)
			}
		}
		if count != 1 {
			wrong = errors.Join(wrong, fmt.Errorf("%s: the entry %q is out of date: the functions of %s contain its text %d "+
				"times instead of once; mend it there", Table, m.Name, m.In, count))
		}
	}
	return all, errors.Join(err, wrong)
}

// Switch is the environment variable that switches on a mutant. The names of all that a process meets go into the file that meets names.
const Switch, meets = "PLANTED", "PLANTED_MEETS"

//go:embed switch.go.txt
var switchFile string

// Plant makes a copy of a tree with mutants, each in a copy of its function's body, which runs instead of the original when it is switched
// on. So the tree is compiled once for all of them. It returns those that compile: a line directive tells the compiler their numbers.
func Plant(ctx context.Context, tree, copied string, mutants []Mutant) ([]Mutant, error) {
	original, err := filetree.Read(tree)
	slices.SortStableFunc(mutants, func(a, b Mutant) int { return int(b.of.Pos() - a.of.Pos()) }) // so that other offsets stay right
	for {
		planted, wrong := maps.Clone(original), map[string]bool{}
		for i, m := range mutants {
			text, at := planted[m.of.file], m.of.at.Offset(m.of.Body.Pos())+1
			if m.of.Type.Results == nil {
				m.wrong = "{" + m.wrong + "; return }" // it may not end with a return
			}
			body := fmt.Appendf(nil, "\n//line mutant%d:1\n\tif mutantIs(%q) %s\n", i, m.Name, m.wrong)
			planted[m.of.file] = slices.Concat(text[:at], body, text[at:])
			planted[path.Join(path.Dir(m.of.file), "mutant_switch.go")] = fmt.Appendf(nil, switchFile, m.of.in, meets, Switch)
		}
		if err := errors.Join(err, os.RemoveAll(copied), planted.Write(copied)); err != nil {
			return nil, err
		}
		output, err := run(ctx, copied, nil, "go", "build", "-gcflags=-e", "./...")
		if err == nil {
			return mutants, nil
		}
		for _, found := range regexp.MustCompile(`\bmutant(\d+):\d`).FindAllStringSubmatch(output, -1) {
			i, _ := strconv.Atoi(found[1]) // only digits
			wrong[mutants[i].Name] = true
		}
		if len(wrong) == 0 {
			return nil, fmt.Errorf("the tree does not compile: %w: %s", err, output)
		}
		mutants = slices.DeleteFunc(mutants, func(m Mutant) bool { return wrong[m.Name] })
	}
}

// run runs a command in a folder, and returns its output.
func run(ctx context.Context, folder string, env []string, name string, args ...string) (string, error) {
	var out bytes.Buffer
	err := process.Run(ctx, folder, slices.Concat(os.Environ(), []string{"GOWORK=off"}, env), &out, &out, name, args...)
	return out.String(), err
}

// Tests are tests of several folders of a tree in which mutants are planted. Env is their environment.
type Tests struct {
	Tree     string
	Env      []string
	ByFolder map[string][]string
	met      map[meeting][]string
}

// meeting is the tests of a folder that meet a mutant, quick or slower ones.
type meeting struct {
	mutant, folder string
	slower         bool
}

// Learn runs each test alone, two at a time, to learn which mutants it meets. It names those that fail, which cannot judge.
func (t *Tests) Learn(ctx context.Context, out io.Writer) error {
	mu, running := sync.Mutex{}, errgroup.Group{}
	t.met = map[meeting][]string{}
	running.SetLimit(2)
	for folder, names := range t.ByFolder {
		said, err := run(ctx, filepath.Join(t.Tree, folder), nil, "go", "test", "-c", "-vet=off", "-o", "mutants.test", ".")
		if err != nil {
			return fmt.Errorf("the tests of %s do not compile: %w: %s", folder, err, said)
		}
		for _, name := range names {
			running.Go(func() error {
				start, file := time.Now(), filepath.Join(t.Tree, folder, name+".meets")
				_, err := t.run(ctx, folder, []string{name}, 5*time.Minute, meets+"="+file)
				slower := time.Since(start) > 300*time.Millisecond
				text, _ := os.ReadFile(file) // there is none if it meets none
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					_, err = fmt.Fprintf(out, "fails alone, without a mutant: %s %s\n", folder, name)
					return err
				}
				for mutant := range strings.Lines(string(text)) {
					m := meeting{strings.TrimSpace(mutant), folder, slower}
					t.met[m] = append(t.met[m], name)
				}
				return nil
			})
		}
	}
	return errors.Join(running.Wait(), ctx.Err())
}

// run runs some tests of a folder until one fails.
func (t *Tests) run(ctx context.Context, folder string, names []string, limit time.Duration, env string) (string, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	output, err := run(limited, filepath.Join(t.Tree, folder), append(slices.Clip(t.Env), env), "./mutants.test", "-test.failfast",
		"-test.short", "-test.run=^("+strings.Join(names, "|")+")$")
	return output, cmp.Or(limited.Err(), err)
}

// Look is that of a Judge: the tests that meet a mutant, quick ones first.
func (t *Tests) Look(ctx context.Context, m Mutant) (string, error) {
	folders := slices.Sorted(maps.Keys(t.ByFolder))
	for i := range 2 * len(folders) {
		in := meeting{m.Name, folders[i%len(folders)], i >= len(folders)}
		if t.met[in] == nil {
			continue
		}
		each := map[bool]time.Duration{false: 2 * time.Second, true: 20 * time.Second}[in.slower]
		said, err := t.run(ctx, in.folder, t.met[in], 20*time.Second+time.Duration(len(t.met[in]))*each, Switch+"="+m.Name)
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return timedOut, nil
		case errors.As(err, new(*exec.ExitError)):
			if _, name, is := strings.Cut(said, "--- FAIL: "); is {
				return strings.Fields(name)[0], nil
			}
			return cmp.Or(strings.TrimSpace(said[max(0, len(said)-100):]), err.Error()), nil // what the process said in the end
		case err != nil:
			return "", err
		}
	}
	return "", nil
}

// Judge looks for a mutant that is switched on, and says what has noticed it, if anything.
type Judge struct {
	Name string
	Look func(context.Context, Mutant) (noticed string, err error)
}

// Parallel is the judge that needs all processors, and no other one beside it. What does not end in time is timedOut.
const Parallel, timedOut = "parallel", "timed out"

// Run lets judges look for each mutant, two at a time, the next one if those before have not noticed it. As it goes it prints what
// survives, or all if it is verbose. It returns the share that was noticed, without those that timed out.
func Run(ctx context.Context, mutants []Mutant, judges []Judge, verbose bool, out io.Writer) (float64, error) {
	survived, late, mu, running := 0, 0, sync.Mutex{}, errgroup.Group{}
	look := func(m Mutant) (err error) {
		noticed := ""
		for _, j := range judges {
			if noticed == "" && err == nil && m.Parallel == (j.Name == Parallel) {
				if noticed, err = j.Look(ctx, m); noticed != "" {
					noticed = j.Name + ": " + noticed
				}
			}
		}
		mu.Lock()
		defer mu.Unlock()
		switch err = cmp.Or(err, ctx.Err()); {
		case err != nil:
			return fmt.Errorf("%v: %w", m, err)
		case noticed == "":
			survived++
		case strings.HasSuffix(noticed, timedOut):
			late++
		}
		if verbose || noticed == "" {
			_, err = fmt.Fprintf(out, "%s: %v\n", cmp.Or(noticed, "survived"), m)
		}
		return err
	}
	running.SetLimit(2)
	for _, m := range mutants {
		if !m.Parallel {
			running.Go(func() error { return look(m) })
		}
	}
	err := running.Wait()
	for _, m := range mutants {
		if m.Parallel && err == nil {
			err = look(m)
		}
	}
	share := 1 - float64(survived)/float64(max(1, len(mutants)-late))
	if err == nil {
		_, err = fmt.Fprintf(out, "%d mutants: %d timed out, %d survived; %.1f %% of the others are noticed\n",
			len(mutants), late, survived, 100*share)
	}
	return share, err
}
