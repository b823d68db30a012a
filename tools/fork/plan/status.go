package plan

import (
	"mongofork/tools/fork/syntax"
)

// StatusRow describes one declaration of the overlay, or one that it watches.
type StatusRow struct {
	Key syntax.Key
	// How is the directive's verb; "add" for a new declaration.
	How string
	// At is where ours, or the directive, stands: "file:line".
	At string
	// Ours and Theirs are the lengths in lines, comments before them left out.
	Ours, Theirs int
	Reason       string
}

// Status lists what the plan touches, adds, removes and watches, in that order. Init
// functions and blank variables appear under those names.
func (p *Plan) Status() []StatusRow {
	var rows []StatusRow
	for _, t := range p.Touches {
		rows = append(rows, StatusRow{t.Key, string(t.How), t.Ours.At(), t.Ours.Lines(), t.Theirs.Lines(), t.Reason})
	}
	for _, d := range p.Added {
		rows = append(rows, StatusRow{d.Key, "add", d.At(), d.Lines(), 0, ""})
	}
	for _, r := range p.Removed {
		rows = append(rows, StatusRow{r.Key, string(syntax.Remove), r.At(), 0, linesOf(r.Theirs), r.Reason})
	}
	for _, w := range p.Watched {
		rows = append(rows, StatusRow{w.Key, string(syntax.Watch), w.At(), 0, linesOf(w.Theirs), ""})
	}
	return rows
}

// linesOf returns how many lines declarations take.
func linesOf(decls []*syntax.Decl) int {
	n := 0
	for _, d := range decls {
		n += d.Lines()
	}
	return n
}
