// Package planted tests the tests: it plants defects into a copy of the built fork, switches on one after the other, and records which of
// them the comparison with upstream finds, and which the overlay's tests find.
package planted

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"mongofork/tools/fork/filetree"
)

// Table is the file of the defects, below the root of the repository.
const Table = "etc/planted.yaml"

// Defect is a few lines of ours that are replaced by wrong ones.
type Defect struct {
	// Name says what is wrong.
	Name string
	// In is the package's folder. Exactly one of its files contains Text, once; Instead replaces it.
	In, Text, Instead string
	// Unseen says why no comparison with upstream can find the defect, and which test does.
	Unseen string
}

// Judges find defects in a tree, a folder below the root of the repository.
type Judges struct {
	Root string
	// By says who of them looks: "compare", "tests" or both.
	By []string
	// Build builds the comparison with a tree, and Compare runs it with a defect and returns what it printed.
	Build   func(ctx context.Context, tree string) error
	Compare func(ctx context.Context, tree, defect string) ([]byte, error)
	// Test returns the names of the overlay's tests that fail in a tree with a defect.
	Test func(ctx context.Context, tree, defect string) ([]string, error)
}

// wanted is how many of 30 defects are enough.
const wanted = 28

// Run plants the named defects, or all, into a copy of a tree, and prints what finds each. It reports whether compare or the tests find
// enough of them. First it judges the tree without a defect, and refuses to go on if anything is found.
func (j *Judges) Run(ctx context.Context, tree string, defects []Defect, only []string, out io.Writer) (enough bool, err error) {
	const plot = "build/planted"
	folder := filepath.Join(j.Root, plot)
	if err := errors.Join(os.RemoveAll(folder), os.CopyFS(folder, os.DirFS(filepath.Join(j.Root, tree)))); err != nil {
		return false, err
	}
	defer os.RemoveAll(folder)
	if err := Plant(folder, defects); err != nil {
		return false, err
	}
	chosen := slices.DeleteFunc(slices.Clone(defects), func(d Defect) bool {
		return len(only) > 0 && !slices.Contains(only, d.Name)
	})
	if len(only) > len(chosen) {
		return false, fmt.Errorf("%d of these are not among the names that %s lists: %s", len(only)-len(chosen), Table,
			strings.Join(only, " "))
	}
	if err := j.Build(ctx, folder); err != nil { // if it does not compile, no test has found it
		return false, err
	}
	switch seed, failed, err := j.judge(ctx, plot, ""); { // or what is found says nothing about the defects
	case err != nil:
		return false, fmt.Errorf("without a defect: %w", err)
	case seed != "":
		return false, fmt.Errorf("without a defect, compare has a finding at seed %s", seed)
	case len(failed) > 0:
		return false, fmt.Errorf("without a defect, these fail: %s", tell(failed))
	}
	var compared, tested, neither int
	for _, d := range chosen {
		start := time.Now()
		seed, failed, err := j.judge(ctx, plot, d.Name)
		if err != nil {
			return false, fmt.Errorf("%s: %w", d.Name, err)
		}
		var by []string
		if seed != "" {
			compared++
			by = append(by, "compare, seed "+seed)
		}
		if len(failed) > 0 {
			tested++
			by = append(by, tell(failed))
		}
		if by == nil {
			neither++
			by = []string{"nothing"}
		}
		if seed == "" && d.Unseen != "" {
			by = append(by, "not for compare: "+d.Unseen)
		}
		fmt.Fprintf(out, "%-60s %s (%v)\n", d.Name, strings.Join(by, "; "), time.Since(start).Round(time.Second))
	}
	fmt.Fprintf(out, "%d defects: %d found by compare, %d by tests, %d by neither; %d of 30 by either are enough\n",
		len(chosen), compared, tested, neither, wanted)
	return (len(chosen)-neither)*30 >= len(chosen)*wanted, nil
}

// tell names tests, if they are few.
func tell(failed []string) string {
	if rest := len(failed) - 2; rest > 0 {
		return fmt.Sprintf("tests %s and %d more", strings.Join(failed[:2], ", "), rest)
	}
	return "tests " + strings.Join(failed, ", ")
}

// judge runs the comparison and the tests at the same time. It returns the seed of the comparison's first finding, if any, and the tests
// that fail.
func (j *Judges) judge(ctx context.Context, tree, defect string) (seed string, failed []string, err error) {
	var compareErr, testErr error
	var judges sync.WaitGroup
	if slices.Contains(j.By, "compare") {
		judges.Go(func() { seed, compareErr = firstSeed(j.Compare(ctx, filepath.Join(j.Root, tree), defect)) })
	}
	if slices.Contains(j.By, "tests") {
		judges.Go(func() { failed, testErr = j.Test(ctx, tree, defect) })
	}
	judges.Wait()
	return seed, failed, errors.Join(compareErr, testErr)
}

var finding = regexp.MustCompile(`(?m)^seed (\d+): `)

// firstSeed returns the seed of the first finding in the output of a comparison that has failed.
func firstSeed(output []byte, err error) (string, error) {
	if err == nil {
		return "", nil
	}
	if match := finding.FindSubmatch(output); match != nil {
		return string(match[1]), nil
	}
	return "", err
}

// Switch is the environment variable that has the name of the defect that is on.
const Switch = "PLANTED"

// place is where the body of a function begins.
type place struct {
	file, pkg string
	offset    int
}

// Plant plants defects into a tree. Each defect is in a copy of its function's body, which runs instead of the original when the defect is
// switched on. So the tree is built once for all of them.
func Plant(tree string, defects []Defect) error {
	var wrong []error
	copies := map[place]string{}
	for _, d := range defects {
		at, body, err := d.copied(filepath.Join(tree, d.In))
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
		return at, "", fmt.Errorf("%s: the entry %q is out of date: the files of %s contain its text %d times instead of once; mend it there", Table,
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
