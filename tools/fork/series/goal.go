package series

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/syntax"
)

// goal returns the tree that a series has to lead to: upstream's with the overlay in place, but for the files that are left out.
// The steps have no part in it. Its declarations are those of the fork as it is built.
func (s *Series) goal() (filetree.Tree, error) {
	o := &plan.Overlay{}
	for _, f := range s.plan.Overlay.Files {
		if s.files[f.Path] != s.never() {
			o.Files = append(o.Files, f)
		}
	}
	kept, problems, err := plan.Match(s.plan.Module, o)
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, problems
	}
	inPlace, err := assemble.InPlace(kept)
	if err != nil {
		return nil, err
	}
	built, err := assemble.Build(kept)
	if err != nil {
		return nil, err
	}
	goal, err := s.named(kept, assemble.Licensed(assemble.Pristine(kept.Module), inPlace))
	if err != nil {
		return nil, err
	}
	fork, err := s.named(kept, built)
	if err != nil {
		return nil, err
	}
	return goal, sameDecls(fork, goal)
}

// sameDecls reports a declaration that only one of two trees has, or that they have in different forms. Comments, and the files that
// declarations are in, do not matter.
func sameDecls(fork, series filetree.Tree) error {
	want, err := declsOf(fork)
	if err != nil {
		return err
	}
	have, err := declsOf(series)
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if have[key] != want[key] {
			return fmt.Errorf("%s is not in the series %d times, as in the fork, but %d times", key, want[key], have[key])
		}
		delete(have, key)
	}
	for _, key := range slices.Sorted(maps.Keys(have)) {
		return fmt.Errorf("%s is in the series, but not in the fork", key)
	}
	return nil
}

// declsOf counts the declarations of a tree's Go files, by package, name and fingerprint.
func declsOf(t filetree.Tree) (map[string]int, error) {
	out := map[string]int{}
	for _, name := range t.Paths() {
		if !syntax.IsGoFile(name) {
			continue
		}
		source, err := syntax.Parse(name, t[name])
		if err != nil {
			return nil, err
		}
		for _, d := range source.Decls {
			out[fmt.Sprintf("%s %s %s %s", path.Dir(name), source.AST.Name.Name, d.Key.Name, syntax.FingerprintOf(d))]++
		}
	}
	return out, nil
}

// compare compares the tree that the patches have led to with the one that they have to lead to.
func (v *workTree) compare(goal filetree.Tree) error {
	seen := map[string]bool{}
	for name := range strings.Lines(string(v.git.Run("ls-files"))) {
		name = strings.TrimSpace(name)
		data, err := os.ReadFile(filepath.Join(v.dir, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		if there, ok := goal[name]; !ok || !bytes.Equal(there, data) {
			return fmt.Errorf("after the series %s is not what the fork has", name)
		}
		seen[name] = true
	}
	if v.git.Err != nil {
		return v.git.Err
	}
	for _, name := range goal.Paths() {
		if !seen[name] {
			return errors.New("after the series the tree lacks " + name)
		}
	}
	return nil
}
