package assemble

import (
	"maps"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/upstream"
)

// Pristine returns the module as it is, without its workspace files: they name modules that are not in the module zip, and every go
// command in the output would fail on them.
func Pristine(m *upstream.Module) filetree.Tree {
	tree := maps.Clone(m.Tree)
	delete(tree, "go.work")
	delete(tree, "go.work.sum")
	return tree
}
