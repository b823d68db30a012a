// Package series tells the overlay as a series of patches: which step brings what, the tree after each step, and whether each patch
// stands by itself.
package series

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/git"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/upstream"
)

// Series tells the overlay of one base step by step.
type Series struct {
	Options Options
	// Steps are the fixes, and then the steps of the overlay.
	Steps []Step

	fixes  int // how many of the steps are fixes
	root   string
	plan   *plan.Plan // of the whole overlay
	files  map[string]int
	fields map[string]int
}

// never is the number of the step of what stays out of the series: it is later than every step.
func (s *Series) never() int { return len(s.Steps) }

// New reads the steps of a repository and finds each part of the overlay in one of them.
func New(root string, whole *plan.Plan) (*Series, error) {
	opt, err := ReadOptions(root)
	if err != nil {
		return nil, err
	}
	fixes, err := ReadFixes(root, whole.Module.Version)
	if err != nil {
		return nil, err
	}
	steps, err := read(root, Folder+"/[0-9]*")
	if err != nil {
		return nil, err
	}
	s := &Series{Options: opt, Steps: append(fixes, steps...), fixes: len(fixes), root: root, plan: whole,
		files: map[string]int{}, fields: map[string]int{}}
	var ps problem.List
	s.place(&ps)
	for _, f := range whole.Overlay.Files {
		if _, ok := s.files[f.Path]; !ok {
			ps.Add(f.Path, 0, "list it in a file of "+Folder, "no step of the series brings this file")
		}
	}
	return s, ps.OrNil()
}

// place finds out which step brings what.
func (s *Series) place(ps *problem.List) {
	for i, step := range s.Steps {
		s.exist(step.from, step.Files, ps)
		if i < s.fixes {
			put(s.files, s.never(), step.from, step.Files, ps) // the fix brings them itself
			if step.Until != "" && s.until(step) == s.never() {
				ps.Add(step.from, 0, "name a step", "until: there is no step %s", step.Until)
			}
			continue
		}
		step.complete(ps)
		for _, file := range step.archive {
			if _, before := s.files[file.Name]; !before {
				ps.Add(step.from, 0, "list the file in an earlier step", "it changes %s, which no earlier step brings",
					file.Name)
			}
		}
		put(s.files, i, step.from, step.Files, ps)
		put(s.fields, i, step.from, step.Fields, ps)
	}
	for _, left := range s.Options.Left {
		s.exist(setup, left.Files, ps)
		put(s.files, s.never(), setup, left.Files, ps)
		if left.Reason == "" {
			ps.Add(setup, 0, "say why", "files are left out without a reason")
		}
	}
	s.exist(setup, slices.Sorted(maps.Keys(s.Options.Files)), ps)
}

// put notes that a step brings what a list names.
func put(in map[string]int, i int, at string, list []string, ps *problem.List) {
	for _, name := range list {
		if _, twice := in[name]; twice {
			ps.Add(at, 0, "keep one of them", "%s is listed twice in the series", name)
		}
		in[name] = i
	}
}

// exist checks that a repository has these files.
func (s *Series) exist(at string, files []string, ps *problem.List) {
	for _, file := range files {
		if info, err := os.Stat(filepath.Join(s.root, filepath.FromSlash(file))); err != nil || !info.Mode().IsRegular() {
			ps.Add(at, 0, "remove it from the list, or correct its name", "the overlay has no file %s", file)
		}
	}
}

// until returns the number of the step that removes a fix.
func (s *Series) until(fix Step) int {
	if i := slices.IndexFunc(s.Steps, func(step Step) bool { return step.Name == fix.Until }); i >= 0 {
		return i
	}
	return s.never()
}

// formatPatch is how git writes patches.
var formatPatch = []string{"format-patch", "--no-signature", "--zero-commit", "--full-index", "--no-renames", "--stat-width=100",
	"--filename-max-length=80"}

// Patches returns the cover letter and the patches, in the order of their names, each in the format of git format-patch, and the tree
// that they lead to.
func (s *Series) Patches(ctx context.Context, author string) (patches, tree filetree.Tree, err error) {
	trees, messages := []filetree.Tree{assemble.Pristine(s.plan.Module)}, []string{s.plan.Module.String()}
	for i, step := range s.Steps {
		next, err := s.Tree(i)
		if err != nil {
			return nil, nil, err
		}
		if len(filetree.Changed(trees[len(trees)-1], next)) > 0 {
			trees, messages = append(trees, next), append(messages, step.message(s.Options.Ticket, s.plan.Module.Version))
		}
	}
	g, done, err := git.New(ctx, author)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	commit(g, trees, messages)
	n := fmt.Sprint(len(trees) - 1)
	g.Run(slices.Concat(formatPatch, []string{"-" + n, "-o", ".git/series", "--numbered"})...)
	letter := s.letter(g, n)
	if g.Err != nil {
		return nil, nil, g.Err
	}
	patches, err = filetree.Read(filepath.Join(g.Dir, ".git", "series"))
	patches["0000-cover-letter.patch"] = letter
	return patches, trees[len(trees)-1], err
}

// commit commits trees, each on top of the one before, but for files that are the same in all: git has no use for these.
func commit(g *git.Repository, trees []filetree.Tree, messages []string) {
	changed := map[string]bool{}
	for i := range trees[1:] {
		for _, name := range filetree.Changed(trees[i], trees[i+1]) {
			changed[name] = true
		}
	}
	for i, tree := range trees {
		some := filetree.Tree{}
		for name := range changed {
			if data, ok := tree[name]; ok {
				some[name] = data
			}
		}
		g.Commit(some, messages[i])
	}
}

// letter returns the cover letter, which git am does not apply.
func (s *Series) letter(g *git.Repository, n string) []byte {
	return fmt.Appendf(nil, "From %s Mon Sep 17 00:00:00 2001\nFrom: %s <%s>\nDate: %s\nSubject: [PATCH %s/%s] %s\n\n%s\n\n%s\n%s",
		strings.Repeat("0", 40), g.Name, g.Address, "Sat, 1 Jan 2000 00:00:00 +0000", strings.Repeat("0", len(n)), n,
		strings.TrimSpace(s.Options.Ticket+" "+s.Options.Title), strings.TrimSpace(s.Options.Letter),
		g.Run("log", "--reverse", "--format=  %s", "-"+n), g.Run("diff", "--shortstat", "HEAD~"+n))
}

// Patch returns a fix alone, as git format-patch writes it.
func (s Step) Patch(ctx context.Context, author, ticket string, m *upstream.Module) ([]byte, error) {
	p, after, err := lay(m, &plan.Overlay{}, s)
	if err == nil {
		err = nameWrapped(p, after)
	}
	if err != nil {
		return nil, err
	}
	g, done, err := git.New(ctx, author)
	if err != nil {
		return nil, err
	}
	defer done()
	commit(g, []filetree.Tree{assemble.Pristine(m), after}, []string{m.String(), s.message(ticket, m.Version)})
	return g.Run(slices.Concat(formatPatch, []string{"-1", "--stdout"})...), g.Err
}

// Write writes a series to a folder, in the place of the series that is there.
func Write(dir string, patches filetree.Tree) error {
	old, err := filepath.Glob(filepath.Join(dir, "*.patch"))
	for _, name := range old {
		err = errors.Join(err, os.Remove(name))
	}
	if err != nil {
		return err
	}
	return patches.Write(dir)
}
