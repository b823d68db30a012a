package filetree

import (
	"bytes"
	"slices"

	"github.com/rogpeppe/go-internal/diff"
)

// Diff is how one file of a tree differs from that of another.
type Diff struct {
	Path string
	// Text is a unified diff.
	Text []byte
	// Added and Removed count its lines.
	Added, Removed int
}

// Compare lists the files in which a tree differs from another, in order.
func Compare(before, after Tree) []Diff {
	paths := append(before.Paths(), after.Paths()...)
	slices.Sort(paths)
	var out []Diff
	for _, p := range slices.Compact(paths) {
		was, had := before[p]
		now, has := after[p]
		if had && has && bytes.Equal(was, now) {
			continue
		}
		from, to := "a/"+p, "b/"+p
		if !had {
			from = "/dev/null"
		}
		if !has {
			to = "/dev/null"
		}
		out = append(out, NewDiff(p, from, was, to, now))
	}
	return out
}

// NewDiff compares two texts. From and to are what the diff calls them.
func NewDiff(p, from string, was []byte, to string, now []byte) Diff {
	d := Diff{Path: p, Text: diff.Diff(from, was, to, now)}
	// The tool's own heading repeats the names of the lines below it.
	if rest, ok := bytes.CutPrefix(d.Text, []byte("diff ")); ok {
		d.Text = rest[bytes.IndexByte(rest, '\n')+1:]
	}
	for _, h := range Hunks(d.Text) {
		d.Removed += h.End - h.Start
		d.Added += bytes.Count(h.Text, []byte("\n"))
	}
	return d
}

// ChangedPaths returns the paths of changed files, in order.
func ChangedPaths(changes []Diff) []string {
	var paths []string
	for _, c := range changes {
		paths = append(paths, c.Path)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}
