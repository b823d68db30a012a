package trial

import (
	"slices"
	"strings"
)

// waiting are plans that meet a defect of the fork which is known and not mended yet. Who mends one removes its line; the plans are then
// compared like all others.
var waiting = []struct {
	defect string
	meets  func(Plan) bool
}{
	{"a write of many documents adopts the interruption of a monitor's command", func(p Plan) bool {
		many := p.Has("insertMany") || p.Has("bulkWrite") || p.Has("withTransaction")
		return many && p.Monitor.Asks > 0 && p.faulty(func(f Fault) bool { return f.On == "count" && f.What == Reject })
	}},
	{"after a commit of unknown result, the next one is not for a majority", func(p Plan) bool {
		late := func(f Fault) bool { return f.On == "commitTransaction" && f.What == Slow }
		return p.hurried() && (p.faulty(late) || p.Has("transaction") && p.Monitor.On != "")
	}},
	{"failures of authentication are retried without a limit until a deadline", func(p Plan) bool {
		return p.hurried() && p.faulty(func(f Fault) bool { return f.Times == 1000 && strings.HasPrefix(f.On, "sasl") })
	}},
	{"many labels take quadratic time", func(p Plan) bool { return p.faulty(func(f Fault) bool { return f.What == Labels }) }},
	{"a retry after a failed authentication meets the clearing of its own failure", func(p Plan) bool {
		return p.Monitor.Yields && p.OneRetry()
	}},
	{"code 391 takes the place of the overload errors after it", func(p Plan) bool {
		return p.faulty(func(f Fault) bool { return f.Code == 391 }) && p.faulty(func(f Fault) bool { return f.What == Reject })
	}},
	{"a cursor's reply without what it must have panics", func(p Plan) bool {
		return p.faulty(func(f Fault) bool { return f.What == Lack && strings.HasPrefix(f.Field, "cursor") })
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

// hurried reports whether the plan has a call that has to end by a time.
func (p Plan) hurried() bool {
	return p.timeout() > 0 || slices.ContainsFunc(p.Calls, func(c Call) bool { return c.Deadline+c.Cancel > 0 })
}

// faulty reports whether the plan has such a fault.
func (p Plan) faulty(is func(Fault) bool) bool { return slices.ContainsFunc(p.Faults, is) }
