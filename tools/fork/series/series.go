// Package series writes the overlay as a series of patches, one for each layer.
package series

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/git"
	"mongofork/tools/fork/layer"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/upstream"
)

// Series tells the overlay of one base layer by layer.
type Series struct {
	Options Options
	Steps   []Step

	root    string
	module  *upstream.Module
	overlay *plan.Overlay
}

// New reads the layers of a repository as steps.
func New(root string, whole *plan.Plan) (*Series, error) {
	opt, err := ReadOptions(root)
	if err != nil {
		return nil, err
	}
	steps, err := ReadSteps(root)
	if err != nil {
		return nil, err
	}
	s := &Series{Options: opt, root: root, module: whole.Module, overlay: whole.Overlay}
	var ps problem.List
	for _, left := range opt.Left {
		if left.Reason == "" {
			ps.Add(setup, 0, "say why", "files are left out without a reason")
		}
	}
	for _, step := range steps {
		if !s.left(step.Name) {
			s.Steps = append(s.Steps, step)
		}
	}
	return s, ps.OrNil()
}

// left reports whether a file or a layer stays out of the series.
func (s *Series) left(name string) bool {
	return slices.ContainsFunc(s.Options.Left, func(l LeftOut) bool {
		return slices.ContainsFunc(l.Files, func(out string) bool { return name == out || strings.HasPrefix(name, out+"/") })
	})
}

// formatPatch is how git writes patches.
var formatPatch = []string{"format-patch", "--no-signature", "--zero-commit", "--full-index", "--no-renames", "--stat-width=100",
	"--filename-max-length=80"}

// Patches returns the cover letter and the patches, by file name, each in the format of git format-patch, and the tree after the last
// patch.
func (s *Series) Patches(ctx context.Context, author string) (patches, tree filetree.Tree, err error) {
	trees, messages, err := s.trees()
	if err != nil {
		return nil, nil, err
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

// commit commits trees, each on top of the one before, except files that are the same in all.
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

// reports is the folder of the reports of defects, DEFECT.md.
const reports = "docs/upstream-defects"

// FixPatches returns the patch of each fix that has a report alone, on upstream's tree, by the names of the defects.
func (s *Series) FixPatches(ctx context.Context, author string) (filetree.Tree, error) {
	patches, before := filetree.Tree{}, assemble.Pristine(s.module)
	for _, step := range s.Steps {
		report := filepath.Join(s.root, filepath.FromSlash(reports), path.Base(step.Name)+".md")
		if _, err := os.Stat(report); !slices.Contains(fixFolders, path.Dir(step.Name)) || err != nil {
			continue
		}
		laid, err := s.lay(layer.On(s.module), func(layer int) bool { return layer == step.layer })
		var after filetree.Tree
		if err == nil {
			after, err = s.named(laid)
		}
		if err != nil {
			return nil, fmt.Errorf("%s alone: %w", step.Name, err)
		}
		theirs := func(name string) bool { return before[name] != nil }
		if !slices.ContainsFunc(filetree.Changed(before, after), theirs) { // on this base it has only the tests that it shares
			continue
		}
		g, done, err := git.New(ctx, author)
		if err != nil {
			return nil, err
		}
		commit(g, []filetree.Tree{before, after}, []string{s.module.String(), step.message(s.Options.Ticket, s.module.Version)})
		patches[path.Base(step.Name)+".patch"] = g.Run(slices.Concat(formatPatch, []string{"-1", "--stdout"})...)
		done()
		if g.Err != nil {
			return nil, g.Err
		}
	}
	return patches, nil
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
