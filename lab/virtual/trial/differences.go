package trial

import (
	"regexp"
	"slices"
	"sync"
)

// Difference is one between upstream and the fork that is wanted without overload errors. What it says of an instant has to be all that is
// different there.
type Difference struct {
	// Row is the subject of the row of docs/differences.md that has the reason.
	Row string
	// Hide matches what traces leave out, because it is always there.
	Hide *regexp.Regexp
	// Apart is whether the drivers go on differently with the call.
	Apart bool
	// Ends matches which call ends: "none", or "several", or the drivers and its kind: "up find", "fork find", "both find". Without it,
	// a call ends only if the lines of the sides say so.
	Ends string
	// Kinds are those of calls of which one is under way, and no other call asks for a connection.
	Kinds []string
	// When is what else has to be so.
	When     func(seen) bool
	Up, Fork side
	// But matches that in which the lines of both sides differ, if that is all.
	But string
}

// side is what one of the drivers does.
type side struct {
	lines string // match each line but those of the call's end; there is none if it is empty
	one   string // matches one of those
	no    string // matches no line at all
	// These match what the call's end says, if it ends.
	error, is, detail, returns string
	// later matches a line from then on if it does not end; CALL stands for the calls under way of the difference's kinds.
	later string
}

// seen is an instant, and how a call ends then.
type seen struct {
	Instant
	ends
}

// explains reports whether the difference is all that is different at an instant.
func (d *Difference) explains(i seen) bool {
	if d.Hide != nil || d.Ends != "" && !re(`^(`+d.Ends+`)$`).MatchString(i.which()) {
		return false
	}
	own := i
	if d.Ends == "" {
		own.ends = ends{restUp: i.Upstream, restFork: i.Fork}
	}
	return d.Up.fits(d, own, own.up, own.restUp, i.Upstream, i.UpstreamOn) &&
		d.Fork.fits(d, own, own.fork, own.restFork, i.Fork, i.ForkOn) &&
		(len(d.Kinds) == 0 || i.under(d.Kinds) != "" && i.bound(d.Kinds)) && (d.But == "" || i.but(d.But)) &&
		(d.When == nil || d.When(i))
}

// fits reports whether the driver does it: how the call ends with it, the other lines, all, and those from then on.
func (s side) fits(d *Difference, i seen, e end, rest, all, on []string) bool {
	for what, pattern := range map[string]string{"error": s.error, "is": s.is, "detail": s.detail, "returns": s.returns} {
		if len(e) > 0 && pattern != "" && !re(pattern).MatchString(e[what]) {
			return false
		}
	}
	return every(rest, s.lines) && (s.one == "" || some(rest, s.one)) && (s.no == "" || !some(all, s.no)) &&
		(s.later == "" || len(e) > 0 || i.later(on, s.later, d.Kinds))
}

var compiled sync.Map

// re compiles a pattern, once.
func re(pattern string) *regexp.Regexp {
	if found, ok := compiled.Load(pattern); ok {
		return found.(*regexp.Regexp)
	}
	compiled.Store(pattern, regexp.MustCompile(pattern))
	return re(pattern)
}

// some reports whether a line matches a pattern.
func some(lines []string, pattern string) bool {
	return slices.ContainsFunc(lines, re(pattern).MatchString)
}

// every reports whether all lines match a pattern; none do if it is empty.
func every(lines []string, pattern string) bool {
	return !slices.ContainsFunc(lines, func(line string) bool { return pattern == "" || !re(pattern).MatchString(line) })
}

// Reasons returns the differences that explain an instant: one, or one for each call that ends; or nil.
func Reasons(i Instant) (found []*Difference) {
	if reason := Reason(i); reason != nil {
		return []*Difference{reason}
	}
	for _, part := range i.parts() {
		reason := Reason(part)
		if reason == nil {
			return nil
		}
		found = append(found, reason)
	}
	return found
}

// Reason returns the difference that explains an instant, or nil.
func Reason(i Instant) *Difference {
	n := slices.IndexFunc(Differences, func(d Difference) bool { return d.explains(seen{i, i.ended()}) })
	if n < 0 {
		return nil
	}
	return &Differences[n]
}
