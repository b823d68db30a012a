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

// Status lists what the plan touches, adds and watches, in that order. Init
// functions and blank variables appear under those names.
func (p *Plan) Status() []StatusRow {
	var rows []StatusRow
	for _, t := range p.Touches {
		rows = append(rows, StatusRow{t.Key, string(t.How), t.Ours.at(), t.Ours.lines(), t.Theirs.lines(), t.Reason})
	}
	for _, d := range p.Added {
		rows = append(rows, StatusRow{d.Key, "add", d.at(), d.lines(), 0, ""})
	}
	for _, w := range p.Watched {
		theirs := 0
		for _, d := range w.Theirs {
			theirs += d.lines()
		}
		rows = append(rows, StatusRow{w.Key, string(Watch), w.at(), 0, theirs, ""})
	}
	return rows
}
