package series

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/git"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/upstream"
)

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
