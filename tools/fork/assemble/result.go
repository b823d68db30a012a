package assemble

import (
	"slices"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/upstream"
)

// Result is the output of a build, in memory.
type Result struct {
	Tree filetree.Tree
	// Segments gives the origin of the overlay text in each file. A file that
	// gofmt had to reformat has none.
	Segments map[string][]Segment
	// Origins maps an output file to the overlay file it was made of whole.
	Origins map[string]string
}

// workFiles are upstream's workspace files. They name modules that are not in
// the module zip, and every go command in the output would fail on them.
var workFiles = []string{"go.work", "go.work.sum"}

// Pristine returns the module as it is, without its workspace files.
func Pristine(m *upstream.Module) *Result {
	a := &Result{Tree: filetree.Tree{}, Segments: map[string][]Segment{}, Origins: map[string]string{}}
	for name, data := range m.Tree {
		if !slices.Contains(workFiles, name) {
			a.Tree[name] = data
		}
	}
	return a
}
