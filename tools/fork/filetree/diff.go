package filetree

import (
	"bytes"
	"slices"

	"github.com/rogpeppe/go-internal/diff"
)

// Changed returns the paths of the files in which a tree differs from another, in order.
func Changed(before, after Tree) []string {
	paths := append(before.Paths(), after.Paths()...)
	slices.Sort(paths)
	return slices.DeleteFunc(slices.Compact(paths), func(p string) bool {
		was, had := before[p]
		now, has := after[p]
		return had && has && bytes.Equal(was, now)
	})
}

// Diff returns the unified diff of two texts, without the tool's own heading, which repeats the names of the lines below it.
func Diff(from string, was []byte, to string, now []byte) string {
	_, text, _ := bytes.Cut(diff.Diff(from, was, to, now), []byte("\n"))
	return string(text)
}
