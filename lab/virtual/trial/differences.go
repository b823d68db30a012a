package trial

import (
	"cmp"
	"slices"
	"strings"
)

// Difference is one between upstream and the fork that is wanted without overload errors. What it says of an instant of a call has to be
// all that is different there.
type Difference struct {
	// Row is the subject of the row of docs/differences.md that has the reason.
	Row string
	// Apart is whether the drivers go on differently with the call.
	Apart bool
	// Kinds matches the call's kind, if it is not that of any call.
	Kinds string
	// Ends says with which driver the call ends: "none", "up", "fork" or "both", or several of them.
	Ends string
	// Up and Fork match each line that only one of them has but for the end's; there is none if they are empty.
	Up, Fork string
	// But matches that in which the lines of both differ, if that is all. There are some if Up is not empty.
	But string
	// When is what else has to be so.
	When clue
}

// explains reports whether the difference is all that is different at an instant.
func (d *Difference) explains(i *Instant) bool {
	return ofKind(cmp.Or(d.Kinds, `.+`))(i) && re(`^(`+d.Ends+`)$`).MatchString(i.ends()) &&
		every(i.Up[rest], d.Up) && every(i.Fork[rest], d.Fork) && (d.When == nil || d.When(i)) &&
		(d.But == "" || alike(i.Up[only], i.Fork[only], d.But) && (d.Up == "" || len(i.Up[rest]) > 0))
}

// Reason returns the difference that explains an instant, or nil.
func Reason(i *Instant) *Difference {
	n := slices.IndexFunc(Differences, func(d Difference) bool { return d.explains(i) })
	if n < 0 {
		return nil
	}
	return &Differences[n]
}

// clue is what an instant has to show.
type clue = func(*Instant) bool

func allOf(clues ...clue) clue {
	return func(i *Instant) bool { return !slices.ContainsFunc(clues, func(c clue) bool { return !c(i) }) }
}

func anyOf(clues ...clue) clue {
	return func(i *Instant) bool { return slices.ContainsFunc(clues, func(c clue) bool { return c(i) }) }
}

func not(c clue) clue { return func(i *Instant) bool { return !c(i) } }

// up and fork are a line, or how the call ends, with one of the drivers.
func up(of part, pattern string) clue {
	return func(i *Instant) bool { return some(i.Up[of], pattern) }
}

func fork(of part, pattern string) clue {
	return func(i *Instant) bool { return some(i.Fork[of], pattern) }
}

// ifUp and ifFork are how it ends if it does.
func ifUp(of part, pattern string) clue { return anyOf(not(up(returns, `.`)), up(of, pattern)) }

func ifFork(of part, pattern string) clue { return anyOf(not(fork(returns, `.`)), fork(of, pattern)) }

// either is a line of any of them until the end of the instant.
func either(pattern string) clue { return anyOf(up(soFar, pattern), fork(soFar, pattern)) }

// twice is a line that the fork has more than once.
func twice(of part, pattern string) clue {
	return func(i *Instant) bool { return count(i.Fork[of], pattern) > 1 }
}

func has(option string) clue { return func(i *Instant) bool { return i.Plan.Has(option) } }

// ofKind is a call of one of these kinds.
func ofKind(kinds string) clue {
	return func(i *Instant) bool { return re(`^(` + kinds + `)$`).MatchString(i.Call.Kind) }
}

// faulty is a fault of the plan that has all that this one has.
func faulty(like Fault) clue {
	return func(i *Instant) bool {
		return i.Plan.faulty(func(f Fault) bool {
			return cmp.Or(like.What, f.What) == f.What && cmp.Or(like.On, f.On) == f.On &&
				cmp.Or(like.Code, f.Code) == f.Code && strings.HasPrefix(f.Field, like.Field)
		})
	}
}

var (
	reauthenticates = faulty(Fault{Code: 391})
	concerned       = faulty(Fault{What: Concern, On: "commitTransaction"})
)

func proxied(i *Instant) bool { return i.Plan.Proxied() }

// hurries is a deadline of the call, or its cancellation.
func hurries(i *Instant) bool { return i.Call.Deadline+i.Call.Cancel > 0 || i.Plan.Has("timeoutMS") }

// shifted is whether each line that only one of them has is there with the other one, then or later.
func shifted(i *Instant) bool {
	lacks := func(only, on []string) bool {
		return slices.ContainsFunc(only, func(line string) bool { return !slices.Contains(on, line) })
	}
	return !lacks(i.Up[only], i.Fork[on]) && !lacks(i.Fork[only], i.Up[on])
}

// interruption is the error of upstream, to which the fork adds why there was no time for a retry, and perhaps more properties.
func interruption(more string) clue {
	return allOf(adds(more), func(i *Instant) bool {
		kind, text := i.Up.failure()
		forkKind, forkText := i.Fork.failure()
		parts := re(noTime+`|`+inBackoff).Split(forkText, 2)
		cancelled := i.Call.Cancel > 0 || i.Call.ID >= monitors || up(is, "context canceled")(i) || !fork(is, "context canceled")(i)
		return cancelled && len(parts) > 1 && parts[0] != "" && (text == parts[0] || strings.HasPrefix(text, parts[0]+": ")) &&
			(forkKind == kind || forkKind == "backpressure.Interruption")
	})
}

// adds is whether the fork's error, if there is one, is what upstream's is, and what matches, too.
func adds(more string) clue {
	return func(i *Instant) bool {
		up, fork := strings.Split(i.Up.end(is), ", "), strings.Split(i.Fork.end(is), ", ")
		isNew := func(one string) bool {
			return one != "" && !slices.Contains(up, one) && !re(`^(`+more+`)$`).MatchString(one)
		}
		lost := func(one string) bool { return one != "" && !slices.Contains(fork, one) }
		return !slices.ContainsFunc(up, lost) && !slices.ContainsFunc(fork, isNew)
	}
}

// sameCause is whether the fork's error tells what upstream's does.
func sameCause(i *Instant) bool {
	_, up := i.Up.failure()
	_, fork := i.Fork.failure()
	cause := re(`^\s*(write command error: \[\{write errors: \[\]\}, \{|bulk write exception: (write concern errors?: \[?)?)?(.*?)(\}?\])?$`).
		FindStringSubmatch(up)
	return cause != nil && cause[3] != "" && strings.Contains(fork, cause[3])
}

// sameText is whether the errors have the same text.
func sameText(i *Instant) bool {
	_, up := i.Up.failure()
	_, fork := i.Fork.failure()
	return strings.TrimSpace(up) == strings.TrimSpace(fork) // a command's error has another space where it has no name
}

// sameReturn is whether the call returns the same.
func sameReturn(i *Instant) bool { return i.Up.end(returns) == i.Fork.end(returns) }

// sameLater is whether upstream has the fork's error, then or later.
func sameLater(i *Instant) bool { return endOf(i.Up[on], fails) == i.Fork.end(fails) }

// sameResult is whether the call returns the same, and upstream's details are among the fork's, which may have more labels.
func sameResult(i *Instant) bool {
	up, fork := i.Up.end(detail), i.Fork.end(detail)
	bare := func(text string) string { return re(`\[("\w+" ?)*\]`).ReplaceAllString(text, "") }
	return sameReturn(i) && strings.Contains(bare(fork), bare(up)) &&
		!slices.ContainsFunc(re(`"\w+"`).FindAllString(up, -1), func(label string) bool { return !strings.Contains(fork, label) })
}

// sameCourse is whether the call goes on, and ends, in the same way, at whatever times.
func sameCourse(i *Instant) bool {
	return alike(i.Up[on], i.Fork[on], `^\(.*| in \S+$|"t":\d+,"i":\d+|`+maxTime)
}
