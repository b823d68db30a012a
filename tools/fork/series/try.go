package series

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"mongofork/tools/command"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/git"
)

// The ways in which a patch applies to a tree that it was not made for.
const (
	Applies   = "applies"   // as git am does
	Merges    = "merges"    // as git am --3way does, without a conflict
	Conflicts = "conflicts" // not
)

// TriedPatch says whether a patch applies to a tree.
type TriedPatch struct {
	Name   string `json:"name"`
	Step   string `json:"step"`
	Result string `json:"result"`
	// Conflicts are the files of a patch that conflicts.
	Conflicts []string `json:"conflicts,omitempty"`
}

// Try applies the patches of a series, the cover letter apart, to a copy of a tree, one after the other. One that conflicts is
// left out, and so those that build on it may conflict too. The tree before is the one that the series was made for.
func Try(ctx context.Context, run command.RunFunc, before, tree filetree.Tree, patches []Patch) ([]TriedPatch, error) {
	g, done, err := git.New(ctx, run, git.Builder)
	if err != nil {
		return nil, err
	}
	defer done()
	before, tree = changedBy(patches, before), changedBy(patches, tree)
	file := filepath.Join(g.Dir, ".git", "tried.patch")
	am := func(patch Patch, args ...string) bool {
		if g.Err == nil {
			g.Err = os.WriteFile(file, patch.Data, 0o644)
		}
		g.Run(append([]string{"am", "--quiet"}, append(args, file)...)...)
		return g.Err == nil
	}
	g.Commit(before, "before")
	for _, patch := range patches { // for the merges
		if patch.Step != "" {
			am(patch)
		}
	}
	g.Commit(tree, "tree")
	var tried []TriedPatch
	for _, patch := range patches {
		if patch.Step == "" || g.Err != nil || ctx.Err() != nil {
			continue
		}
		t := TriedPatch{Name: patch.Name, Step: patch.Step, Result: Applies}
		if !am(patch) {
			g.AbortApply()
			if t.Result = Merges; !am(patch, "--3way") {
				t.Result = Conflicts
				g.Err = nil
				t.Conflicts = strings.Fields(string(g.Run("diff", "--name-only", "--diff-filter=U")))
				g.AbortApply()
			}
		}
		tried = append(tried, t)
	}
	if g.Err == nil {
		g.Err = ctx.Err()
	}
	return tried, g.Err
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
