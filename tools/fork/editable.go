package fork

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/output"
)

// Editable returns the fork's tree for people who work on it: the overlay's files by the path of those that are the same, and in each
// of the others, which lack directives or what is upstream's place, where it comes from. No line moves.
func (p *Project) Editable(f output.Fork) (tree filetree.Tree, same map[string]string) {
	tree, same = maps.Clone(f.Tree), map[string]string{}
	for _, file := range f.Plan.Overlay.Files {
		data, ok := tree[file.Path]
		switch {
		case !ok: // all of it is in upstream's files
		case bytes.Equal(data, file.Data):
			same[file.Path] = filepath.Join(p.Root, filepath.FromSlash(file.Path))
		case file.Source != nil:
			clause := []byte("\npackage " + file.Source.AST.Name.Name + "\n")
			note := fmt.Sprintf("%s // made from %s: edit that file, then run \"make fork\"\n", bytes.TrimSpace(clause),
				file.Path)
			whole := append([]byte("\n"), data...) // the clause may come first
			tree[file.Path] = bytes.Replace(whole, clause, []byte("\n"+note), 1)[1:]
		}
	}
	return tree, same
}
