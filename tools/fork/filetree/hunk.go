package filetree

import (
	"bytes"
	"fmt"
)

// Hunk is one change between two texts: the lines [Start, End) of the old one,
// 0-based, become Text.
type Hunk struct {
	Start, End int
	Text       []byte
}

// Hunks reads the changes out of a unified diff, without the context lines.
func Hunks(unified []byte) []Hunk {
	r := hunkReader{}
	for _, line := range bytes.SplitAfter(unified, []byte("\n")) {
		r.read(line)
	}
	return r.out
}

type hunkReader struct {
	out     []Hunk
	line    int  // number of old lines that were read
	started bool // past the names of the files
	open    bool // the last line belongs to the last hunk
	added   bool // the last line was an added one
}

func (r *hunkReader) read(line []byte) {
	switch {
	case len(line) == 0:
	case line[0] == '@':
		r.started, r.open = true, false
		var first, count int
		if n, _ := fmt.Sscanf(string(line), "@@ -%d,%d ", &first, &count); n == 1 {
			count = 1
		}
		// An empty range is named by the line before it.
		if r.line = first; count > 0 {
			r.line--
		}
	case !r.started:
	case line[0] == '\\':
		if last := len(r.out) - 1; r.added {
			r.out[last].Text = bytes.TrimSuffix(r.out[last].Text, []byte("\n"))
		}
	case line[0] == ' ':
		r.line++
		r.open = false
	default:
		r.change(line)
	}
}

// change takes a removed or an added line.
func (r *hunkReader) change(line []byte) {
	if !r.open {
		r.out = append(r.out, Hunk{Start: r.line, End: r.line})
		r.open = true
	}
	last := &r.out[len(r.out)-1]
	if r.added = line[0] == '+'; r.added {
		last.Text = append(last.Text, line[1:]...)
		return
	}
	r.line++
	last.End = r.line
}
