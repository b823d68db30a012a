package trial

import "slices"

// Difference is one between upstream and the fork that is wanted without overload errors. What it says of an instant of a call has to be
// all that is different there.
type Difference struct {
	// Row is the subject of the row of docs/differences.md that has the reason.
	Row string
	// Apart is whether the drivers go on differently with the call.
	Apart bool
	// Kinds matches the call's kind; empty is that of what is of no call.
	Kinds string
	// Ends says with which driver the call ends: "none", "up", "fork" or "both", or several of them.
	Ends string
	// Up and Fork match each line that only one of them has but for the end's; there is none if they are empty.
	Up, Fork string
	// But matches that in which the lines of both differ, if that is all. There are some if Up is not empty.
	But string
	// When is what else has to be so.
	When func(*Instant) bool
}

// explains reports whether the difference is all that is different at an instant.
func (d *Difference) explains(i *Instant) bool {
	ends := map[[2]bool]string{{false, false}: "none", {true, false}: "up", {false, true}: "fork", {true, true}: "both"}
	up, fork := i.Up.rest(), i.Fork.rest()
	return i.of(d.Kinds) &&
		re(`^(`+d.Ends+`)$`).MatchString(ends[[2]bool{i.Up.ends(), i.Fork.ends()}]) && every(up, d.Up) && every(fork, d.Fork) &&
		(d.But == "" || i.but(d.But) && (d.Up == "" || len(up) > 0)) && (d.When == nil || d.When(i))
}

// Reason returns the difference that explains an instant, or nil.
func Reason(i *Instant) *Difference {
	n := slices.IndexFunc(Differences, func(d Difference) bool { return d.explains(i) })
	if n < 0 {
		return nil
	}
	return &Differences[n]
}
