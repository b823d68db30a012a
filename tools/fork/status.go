package fork

// StatusRow describes one declaration of the overlay, or one that it watches.
type StatusRow struct {
	Key Key
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
		rows = append(rows, StatusRow{t.Key, string(t.How), t.Ours.at(), t.Ours.lines(), t.Theirs.lines(), t.Reason})
	}
	for _, d := range p.Added {
		rows = append(rows, StatusRow{d.Key, "add", d.at(), d.lines(), 0, ""})
	}
	for _, r := range p.Removed {
		rows = append(rows, StatusRow{r.Key, string(Remove), r.at(), 0, linesOf(r.Theirs), r.Reason})
	}
	for _, w := range p.Watched {
		rows = append(rows, StatusRow{w.Key, string(Watch), w.at(), 0, linesOf(w.Theirs), ""})
	}
	return rows
}

// linesOf returns how many lines declarations take.
func linesOf(decls []*Decl) int {
	n := 0
	for _, d := range decls {
		n += d.lines()
	}
	return n
}
