package series

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"mongofork/tools/command"
	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/git"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/upstream"
)

// Patch is one patch of a series, or its cover letter.
type Patch struct {
	// Name is that of the file.
	Name string
	Data []byte
	// Changed are the paths of the files that it changes, in order.
	Changed []string
}

// Patches returns the cover letter and the patches, in order, each in the format of git format-patch, and the tree that they
// lead to.
func (s *Series) Patches(ctx context.Context, run command.RunFunc, author string) ([]Patch, filetree.Tree, error) {
	trees := []filetree.Tree{assemble.Pristine(s.plan.Module)}
	var patches []Patch
	var messages []string
	for i, step := range s.Commits() {
		next, err := s.Tree(i - len(s.Fixes))
		if err != nil {
			return nil, nil, err
		}
		changes := filetree.Changed(trees[len(trees)-1], next)
		if len(changes) == 0 {
			continue
		}
		patches = append(patches, Patch{Changed: changes})
		messages, trees = append(messages, step.message(s.Options.Ticket, s.plan.Module.Version)), append(trees, next)
	}
	if len(patches) == 0 {
		return nil, nil, fmt.Errorf("the series changes nothing of %s", s.plan.Module.Version)
	}
	g, done, err := git.New(ctx, run, author)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	g.Commit(changedBy(patches, trees[0]), s.plan.Module.String())
	for i, message := range messages {
		g.Commit(changedBy(patches, trees[i+1]), message)
	}
	out, err := s.format(g, patches)
	return out, trees[len(trees)-1], err
}

// Commits returns what the series consists of: the fixes, and then the steps.
func (s *Series) Commits() []Step {
	var commits []Step
	for _, fix := range s.Fixes {
		commits = append(commits, fix.Step)
	}
	return append(commits, s.Steps...)
}

// Tree returns upstream's tree as it is after a step; -1 is after the last fix, -2 after the one before. The number of steps stands for
// the whole overlay, with what is left out and without the fixes, as it has its own.
func (s *Series) Tree(last int) (filetree.Tree, error) {
	o, err := s.overlay(last)
	if err != nil {
		return nil, err
	}
	p, tree, err := lay(s.plan.Module, o, s.fixesAfter(last)...)
	if err != nil {
		return nil, fmt.Errorf("after %s the overlay does not fit: %w", s.nameOf(last), err)
	}
	return s.named(p, tree)
}

// lay lays an overlay over a module with fixes, as it is in upstream's tree.
func lay(m *upstream.Module, o *plan.Overlay, fixes ...Fix) (*plan.Plan, filetree.Tree, error) {
	var ps problem.List
	for _, fix := range fixes {
		fix.addTo(o, m.Version, &ps)
	}
	if ps.OrNil() != nil {
		return nil, nil, ps
	}
	p, ps := plan.Match(m, o)
	if len(ps) > 0 {
		return nil, nil, ps
	}
	built, err := assemble.Build(p)
	if err != nil {
		return nil, nil, err
	}
	tree := assemble.Licensed(assemble.Pristine(m), built)
	for _, fix := range fixes {
		if err := fix.edit(p, tree); err != nil {
			return nil, nil, err
		}
	}
	return p, tree, nil
}

// formatPatch returns the arguments by which git writes patches.
func formatPatch(more ...string) []string {
	return append([]string{"format-patch", "--no-signature", "--zero-commit", "--full-index", "--no-renames", "--stat-width=100",
		"--filename-max-length=80"}, more...)
}

// format writes the commits as patches, and the cover letter before them.
func (s *Series) format(g *git.Repository, patches []Patch) ([]Patch, error) {
	n := fmt.Sprint(len(patches))
	list := strings.Fields(string(g.Run(formatPatch("-"+n, "-o", ".git/series", "--numbered")...)))
	if g.Err != nil {
		return nil, g.Err
	}
	for i, name := range list {
		data, err := os.ReadFile(filepath.Join(g.Dir, name))
		if err != nil {
			return nil, err
		}
		patches[i].Name, patches[i].Data = filepath.Base(name), data
	}
	letter := s.letter(g, n)
	return append([]Patch{letter}, patches...), g.Err
}

// letter returns the cover letter, which git am does not apply.
func (s *Series) letter(g *git.Repository, n string) Patch {
	zeros := strings.Repeat("0", len(n))
	var b bytes.Buffer
	fmt.Fprintf(&b, "From %s Mon Sep 17 00:00:00 2001\nFrom: %s <%s>\nDate: %s\nSubject: [PATCH %s/%s] %s\n\n%s\n\n%s\n%s",
		strings.Repeat("0", 40), g.Name, g.Address, "Sat, 1 Jan 2000 00:00:00 +0000", zeros, n,
		strings.TrimSpace(s.Options.Ticket+" "+s.Options.Title), strings.TrimSpace(s.Options.Letter),
		g.Run("log", "--reverse", "--format=  %s", "-"+n), g.Run("diff", "--shortstat", "HEAD~"+n))
	return Patch{Name: "0000-cover-letter.patch", Data: b.Bytes()}
}

// named gives files and wrapped declarations the names that they have in upstream's tree.
func (s *Series) named(plan *plan.Plan, t filetree.Tree) (filetree.Tree, error) {
	out := maps.Clone(t)
	for from, to := range s.Options.Files {
		if data, ok := out[from]; ok {
			if _, taken := out[to]; taken {
				return nil, fmt.Errorf("%s cannot be named %s: there is a file of this name", from, to)
			}
			delete(out, from)
			out[to] = data
		}
	}
	return out, errors.Join(nameWrapped(plan, out), s.keepComments(plan, out))
}

// Write writes a series to a folder, in the place of the series that is there.
func Write(dir string, patches []Patch) error {
	old, err := filepath.Glob(filepath.Join(dir, "*.patch"))
	if err != nil {
		return err
	}
	for _, name := range old {
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	for _, p := range patches {
		if err := filetree.Replace(filepath.Join(dir, p.Name), p.Data); err != nil {
			return err
		}
	}
	return nil
}

// changedBy returns the files of a tree that some patch changes or adds: git has no use for the others.
func changedBy(patches []Patch, t filetree.Tree) filetree.Tree {
	some := filetree.Tree{}
	for _, patch := range patches {
		for _, name := range patch.Changed {
			if data, ok := t[name]; ok {
				some[name] = data
			}
		}
	}
	return some
}
