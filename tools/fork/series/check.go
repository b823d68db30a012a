package series

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
)

// checkDecls checks that some base declares each key that is listed: those of other bases are in files that the plan has not read.
func (s *Series) checkDecls(ps *problem.List) {
	declared := map[syntax.Key]bool{}
	for _, file := range slices.Sorted(maps.Keys(s.files)) {
		data, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(file)))
		if err != nil || !syntax.IsGoFile(file) {
			continue
		}
		source, err := syntax.Parse(file, data)
		if err != nil {
			continue // a problem of the plan
		}
		folder := path.Dir(file)
		if strings.HasSuffix(source.AST.Name.Name, "_test") {
			folder += "_test"
		}
		for _, d := range source.Decls {
			declared[syntax.Key{Package: folder, Name: d.Key.Name}] = true
		}
		for _, key := range fieldKeys(source, folder) {
			declared[key] = true
		}
	}
	for key, i := range s.decls {
		if !declared[key] {
			ps.Add(s.Steps[i].File(), 0, "remove it from the list, or correct its name", "no base of the overlay declares %s", key)
		}
	}
}

// checkFragments checks that the lines of each fragment are in their file once, if the base has the file.
func (s *Series) checkFragments(i int, step Step, ps *problem.List) {
	for _, f := range step.Fragments {
		at, listed := s.files[f.File]
		if !listed || at >= i {
			ps.Add(step.File(), 0, "list the file in an earlier step", "a fragment of %s, which no earlier step brings", f.File)
		}
		file := s.file(f.File)
		if file == nil {
			continue
		}
		if _, _, n := f.find(file.Data); n != 1 || f.Lines == "" {
			ps.Add(step.File(), 0, "copy the lines anew from the file", "a fragment of %s is there %d times, not once: %q", f.File, n, f.Lines)
		}
	}
}
