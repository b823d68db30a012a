package trial

import "slices"

// waiting are plans that meet a defect of the fork which is known and not mended yet. Who mends one removes its line; the plans are then
// compared like all others.
var waiting = []struct {
	defect string
	meets  func(Plan) bool
}{
	{"a retry after a failed authentication meets the clearing of its own failure", func(p Plan) bool {
		return p.Monitor.Yields && p.OneRetry()
	}},
}

// Waiting returns the defect of the fork for whose mend the plan waits, or nothing.
func (p Plan) Waiting() string {
	for _, w := range waiting {
		if w.meets(p) {
			return w.defect
		}
	}
	return ""
}

// faulty reports whether the plan has such a fault.
func (p Plan) faulty(is func(Fault) bool) bool { return slices.ContainsFunc(p.Faults, is) }
