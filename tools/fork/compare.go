package fork

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

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

// CompareDecl shows upstream's declaration of a key beside ours. A watched
// or removed declaration has no counterpart; it is shown alone.
func (p *Plan) CompareDecl(key Key) (string, error) {
	for _, t := range p.Touches {
		if t.Key == key {
			d := newFileDiff("", "upstream/"+t.Theirs.at(), declText(t.Theirs), "overlay/"+t.Ours.at(), declText(t.Ours.Decl))
			return string(d.Text), nil
		}
	}
	for _, w := range p.Watched {
		if w.Key == key {
			return located(w.Theirs), nil
		}
	}
	for _, r := range p.Removed {
		if r.Key == key {
			return located(r.Theirs), nil
		}
	}
	return "", fmt.Errorf("%s is neither touched nor watched (go run ./tools/cmd/mongofork status lists what is)", key)
}

// located returns declarations, each below a comment that says where it stands.
func located(decls []*Decl) string {
	var b strings.Builder
	for _, d := range decls {
		fmt.Fprintf(&b, "// %s\n%s", d.at(), declText(d))
	}
	return b.String()
}

// declText returns a declaration with its comments, ending in a newline.
func declText(d *Decl) []byte {
	start, end := d.extent()
	return append(slices.Clone(d.File.Src[start:end]), '\n')
}

// FilesOf returns the paths of upstream's and of our file that declare a
// touched key.
func (p *Plan) FilesOf(key Key) []string {
	for _, t := range p.Touches {
		if t.Key == key {
			return []string{t.Theirs.File.Path, t.Ours.File.Path}
		}
	}
	return nil
}
