package mutants

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// Table is the file of the mutants that no operator makes, below the root of the repository.
const Table = "etc/planted.yaml"

// Defect is a mutant with a name: a few lines of ours that are replaced by wrong ones.
type Defect struct {
	// Name says what is wrong.
	Name string
	// In is the package's folder. Exactly one of its functions contains Text, once; Instead replaces it.
	In, Text, Instead string
}

// Named returns the mutants of a table.
func Named(tree string, defects []Defect) (all []Mutant, wrong error) {
	for _, d := range defects {
		in, err := functions(tree, d.In)
		if err != nil {
			return nil, err
		}
		count := 0
		for file, functions := range in.byFile {
			for _, f := range functions {
				n := strings.Count(f.body, d.Text)
				if count += n; n != 1 {
					continue
				}
				from := f.at.Offset(f.Body.Pos()) + strings.Index(f.body, d.Text)
				all = append(all, Mutant{Name: d.Name, File: path.Join(d.In, file), Line: f.at.Line(f.at.Pos(from)), Change: d.Name,
					body: f.at.Offset(f.Body.Pos()), wrong: f.whole(strings.Replace(f.body, d.Text, d.Instead, 1))})
			}
		}
		if count != 1 {
			wrong = errors.Join(wrong, fmt.Errorf("%s: the entry %q is out of date: the functions of %s contain its text %d times "+
				"instead of once; mend it there", Table, d.Name, d.In, count))
		}
	}
	return all, wrong
}
