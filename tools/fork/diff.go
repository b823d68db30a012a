package fork

import (
	"bytes"
	"slices"

	"github.com/rogpeppe/go-internal/diff"
)

// FileDiff is how the fork differs from upstream in one file.
type FileDiff struct {
	Path string
	// Text is a unified diff.
	Text []byte
	// Added and Removed count its lines.
	Added, Removed int
}

// Compare lists the files in which a tree differs from another, in order.
func Compare(before, after Tree) []FileDiff {
	paths := append(before.Paths(), after.Paths()...)
	slices.Sort(paths)
	var out []FileDiff
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
		out = append(out, newFileDiff(p, from, was, to, now))
	}
	return out
}

func newFileDiff(p, from string, was []byte, to string, now []byte) FileDiff {
	d := FileDiff{Path: p, Text: diff.Diff(from, was, to, now)}
	// The tool's own heading repeats the names of the lines below it.
	if rest, ok := bytes.CutPrefix(d.Text, []byte("diff ")); ok {
		d.Text = rest[bytes.IndexByte(rest, '\n')+1:]
	}
	for _, h := range hunks(d.Text) {
		d.Removed += h.end - h.start
		d.Added += bytes.Count(h.text, []byte("\n"))
	}
	return d
}
