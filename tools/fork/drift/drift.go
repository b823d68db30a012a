// Package drift reports what another version of upstream's module changed that an overlay relies on.
package drift

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mongofork/tools/command"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/layer"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/fork/upstream"
)

// Row is the drift of one declaration.
type Row struct {
	Subject syntax.Key // the declaration
	// Ours is what the overlay does to it, and where, such as "wrap of pool/pool.go:3"; none if the fork has it as it is.
	Ours []string
	// Was and Now are the texts of the two versions that are compared. If a declaration has moved, Now is in another package.
	Was, Now []*syntax.Decl
}

// Class says what became of it: "gone", "moved" to another package, "changed", or "same" if it is token for token what it was, wherever it
// stands in its package. All else has to be reviewed before the overlay is used with the other version.
func (r Row) Class() string {
	switch {
	case len(r.Now) == 0:
		return "gone"
	case r.Now[0].Key.Package != r.Subject.Package:
		return "moved"
	case syntax.Tokens(r.Was...) != syntax.Tokens(r.Now...):
		return "changed"
	}
	return "same"
}

func (r Row) Diff() string {
	return filetree.Diff(syntax.Places(r.Was), texts(r.Was), syntax.Places(r.Now), texts(r.Now))
}

// Report is the drift from a plan's version to another one.
type Report struct {
	Rows  []Row
	Added []string // what the other version has for the first time: see additions
	// Misfits are all other reasons why the overlay's files for the other version cannot be laid over it or compiled.
	Misfits problem.List
	// Uncompiled is true if the files could not be laid over it, so that Misfits does not have what the compiler would find.
	Uncompiled bool
}

// Compare compares the declarations of upstream that a plan touches, and all others that are not of tests, with those of another version of
// the module, and tries the repository's overlay for that version: //fork:base lines bring in files that no base has. Code that the overlay
// calls through two others, or through an interface, is among the others.
func Compare(ctx context.Context, root string, p *plan.Plan, target *upstream.Module) (*Report, error) {
	r := compare(p, target)
	overlay, readErr := plan.ReadOverlay(root, target)
	_, tree, err := layer.Lay(target, overlay)
	if err = problem.Join(readErr, err); err != nil {
		r.Uncompiled = true
	} else {
		err = Compile(ctx, root, tree)
	}
	if errors.As(err, &r.Misfits) {
		err = nil
	}
	return r, err
}

// Compile type-checks a fork without its tests, for Linux without cgo, so that the result is the same on every machine. The go command
// downloads the modules that it requires. The mistakes are a problem.List, with the lines of the files in build/compiled.
func Compile(ctx context.Context, root string, tree filetree.Tree) error {
	dir := filepath.Join(root, "build", "compiled")
	if err := errors.Join(os.RemoveAll(dir), tree.Write(dir)); err != nil {
		return err
	}
	var mistakes problem.List
	_, err := command.Output(ctx, dir, []string{"GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOWORK=off",
		"GOFLAGS=" + os.Getenv("GOFLAGS") + " -mod=mod"}, "go", "build", "-trimpath", "./...")
	for _, found := range mistake.FindAllStringSubmatch(fmt.Sprint(err), -1) {
		line, _ := strconv.Atoi(found[2]) // only digits
		mistakes.Add(path.Join("build/compiled", found[1]), line, "", "%s", found[3])
		err = mistakes
	}
	return err
}

// mistake is what the go command says of one.
var mistake = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):\d+: (.*)$`)

func compare(p *plan.Plan, target *upstream.Module) *Report {
	r, touched := &Report{}, map[syntax.Key]int{}
	for _, t := range p.Touches {
		was := p.Theirs(t)
		if len(was) == 0 {
			continue
		}
		now := target.Lookup(t.Key)
		if t.How == syntax.Remove && len(now) > 0 {
			now = target.Whole(t.Key)
		}
		i, again := touched[t.Key]
		if !again {
			i, touched[t.Key] = len(r.Rows), len(r.Rows)
			r.Rows = append(r.Rows, Row{Subject: t.Key, Was: was, Now: now})
		}
		at := fmt.Sprintf("%s:%d", t.File.From, t.Line)
		if t.Ours != nil {
			at = t.Ours.At()
		}
		r.Rows[i].Ours = append(r.Rows[i].Ours, fmt.Sprintf("%s of %s", t.How, at))
	}
	for _, d := range declarations(p.Module) {
		was, now := p.Module.Lookup(d.Key), target.Lookup(d.Key)
		// The version is no news.
		renamed := bytes.ReplaceAll(texts(was), []byte(p.Module.Version[1:]), []byte(target.Version[1:]))
		if _, ours := touched[d.Key]; !ours && (d.Key.Package != "version" || !bytes.Equal(renamed, texts(now))) {
			r.Rows = append(r.Rows, Row{Subject: d.Key, Was: was, Now: now})
		}
	}
	moved := map[syntax.Key]bool{}
	for i, row := range r.Rows {
		if len(row.Now) == 0 {
			r.Rows[i].Now = twin(p.Module, target, row.Subject)
			for _, d := range r.Rows[i].Now {
				moved[d.Key] = true
			}
		}
	}
	r.Added = additions(p.Module, target, moved)
	return r
}

// declarations returns the first declaration of each name that a module has outside of tests, but for those that nothing can use.
func declarations(m *upstream.Module) (found []*syntax.Decl) {
	for _, folder := range m.Folders() {
		for _, file := range m.Files(folder) {
			for _, d := range file.Decls {
				if all := m.Lookup(d.Key); len(all) > 0 && all[0] == d && !file.IsTest() {
					found = append(found, d)
				}
			}
		}
	}
	return found
}

// twin looks for the package to which a declaration has moved: one that had no declaration of this name. If there are several, it takes one
// in a folder of the same name.
func twin(from, to *upstream.Module, key syntax.Key) (twins []*syntax.Decl) {
	for _, folder := range to.Folders() {
		there := syntax.Key{Package: folder, Name: key.Name}
		if now := to.Lookup(there); len(now) > 0 && len(from.Lookup(there)) == 0 &&
			(twins == nil || path.Base(folder) == path.Base(key.Package)) {
			twins = now
		}
	}
	return twins
}

// texts returns declarations with their comments, one after the other.
func texts(decls []*syntax.Decl) (out []byte) {
	for _, d := range decls {
		start, end := d.Extent()
		out = append(append(out, d.File.Src[start:end]...), '\n')
	}
	return out
}

// additions lists what a later version of a module has for the first time, or requires otherwise: names that applications can use, words
// that stand in its strings, such as error labels, commands and options, and what its go.mod says.
func additions(from, to *upstream.Module, moved map[syntax.Key]bool) (added []string) {
	for _, d := range declarations(to) {
		if len(from.Lookup(d.Key)) == 0 && !moved[d.Key] && d.Key.Public() {
			added = append(added, fmt.Sprintf("%s (%s)", d.Key, d.At()))
		}
	}
	had := words(from)
	for word, at := range words(to) {
		if had[word] == "" {
			added = append(added, fmt.Sprintf("%q (%s)", word, at))
		}
	}
	for _, line := range changed.FindAllString(filetree.Diff("", from.Tree["go.mod"], "", to.Tree["go.mod"]), -1) {
		added = append(added, "go.mod: "+line)
	}
	slices.Sort(added)
	return added
}

var (
	word    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]+$`)
	changed = regexp.MustCompile(`(?m)^[+-]\s*\w.*$`) // a line in a diff
)

// words returns the words that stand as strings in a module outside of tests, and where each is first.
func words(m *upstream.Module) map[string]string {
	found := map[string]string{}
	for _, d := range declarations(m) {
		for n := range ast.Preorder(d.Node) {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if text := strings.Trim(literal.Value, "\"`"); word.MatchString(text) && found[text] == "" {
					found[text] = fmt.Sprintf("%s:%d", d.File.Path, d.File.Line(literal.Pos()))
				}
			}
		}
	}
	return found
}
