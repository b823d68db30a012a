package trial

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Instant is where two traces differ in a call, or in what is of no call.
type Instant struct {
	Plan Plan
	Call Call
	At   time.Duration
	// Start is when the call began with the fork.
	Start time.Duration
	Up    Side // upstream
	Fork  Side
}

// Side is what one of the drivers shows of the call.
type Side struct {
	// Only are the lines of the instant that the other driver has not, All its lines of the instant, Before those until then, and On
	// those
	// from the instant on.
	Only, All, Before, On []string
}

// At returns the instant of a call at a time: by lines that only one of the traces has.
func At(plan Plan, call int, at, width time.Duration, up, fork Trace, onlyUp, onlyFork []Line) Instant {
	i := Instant{Plan: plan, At: at, Call: plan.call(call)}
	for _, o := range fork.Outcomes {
		if o.ID == call {
			i.Start = o.Start
		}
	}
	i.Up, i.Fork = side(up.Lines, onlyUp, call, at, width), side(fork.Lines, onlyFork, call, at, width)
	return i
}

func side(lines, only []Line, call int, at, width time.Duration) (s Side) {
	for _, l := range only {
		if l.Call == call {
			s.Only = append(s.Only, l.Text)
		}
	}
	for _, l := range lines {
		switch {
		case l.Call != call:
		case l.At < at:
			s.Before = append(s.Before, l.Text)
		default:
			s.On = append(s.On, l.Text)
			if l.At <= at+width {
				s.All = append(s.All, l.Text)
			}
		}
	}
	return s
}

// call returns the plan's call of a number: also one that its monitor makes, or that ends its transaction once more.
func (p Plan) call(number int) (c Call) {
	for _, one := range p.Calls {
		if one.ID == number%monitors {
			c = one
		}
	}
	if number/second > 0 {
		c.Kind = c.Again + "Again"
	}
	if number%second/monitors > 0 {
		c.Kind = monitor
	}
	c.ID = number
	return c
}

// Follows reports whether it may follow from another call's difference: what servers and monitors show, a second commit, or what a call
// that goes on does with both drivers, sooner or later, with the connection of that one.
func (i *Instant) Follows() bool {
	return i.Call.ID == 0 || i.Call.ID >= monitors ||
		!i.Up.ends() && !i.Fork.ends() && i.shifted()
}

// shifted reports whether the other driver shows each line as well, then or later.
func (i *Instant) shifted() bool {
	lacks := func(only, on []string) bool {
		return slices.ContainsFunc(only, func(line string) bool { return !slices.Contains(on, line) })
	}
	return !lacks(i.Up.Only, i.Fork.On) && !lacks(i.Fork.Only, i.Up.On)
}

// Strays reports whether a call that nothing ends early, and that has not ended yet, ends otherwise with the fork.
func (i *Instant) Strays() bool {
	end := func(s Side) string { return endOf(s.On, "is") + endOf(s.On, "detail") + endOf(s.On, "returns") }
	fails := endOf(i.Up.On, "error")+endOf(i.Fork.On, "error") != ""
	switch {
	case i.Call.ID == 0, i.Plan.Hurries(i.Call), i.Up.ends(), i.Fork.ends(), end(i.Up) == end(i.Fork):
		return false
	case len(i.Plan.Workers()) > 1, i.reauthenticates(), some(i.Fork.On, `^error .*(`+noTimeAgain+`)`):
		return false // faults that are for others, or for other commands of this one
	}
	return !fails || len(i.Plan.Faults) == 0 || !strings.HasPrefix(i.Call.Kind, "clientBulk")
}

// both are the lines that either driver shows until the end of the instant.
func (i *Instant) both() []string {
	return slices.Concat(i.Up.soFar(), i.Fork.soFar())
}

// soFar are the lines until the end of the instant.
func (s Side) soFar() []string { return slices.Concat(s.Before, s.All) }

// of reports whether the call is of one of these kinds.
func (i *Instant) of(kinds string) bool { return re(`^(` + kinds + `)$`).MatchString(i.Call.Kind) }

// hurries reports whether the call has a deadline, or is cancelled.
func (i *Instant) hurries() bool { return i.Call.Deadline+i.Call.Cancel > 0 || i.Plan.timeout() > 0 }

// end returns what the call's end says, if it ends: after error, is, detail or returns.
func (s Side) end(what string) string { return endOf(s.All, what) }

func endOf(lines []string, what string) string {
	for _, line := range lines {
		if text, ok := strings.CutPrefix(line, what+" "); ok {
			return text
		}
	}
	return ""
}

// says reports whether it matches.
func (s Side) says(what, pattern string) bool { return re(pattern).MatchString(s.end(what)) }

// ends reports whether the call ends.
func (s Side) ends() bool { return s.end("returns") != "" }

var endLine = regexp.MustCompile(`^(error|is|detail|returns)`)

// rest are the lines of Only that tell of no end.
func (s Side) rest() (rest []string) {
	return slices.DeleteFunc(slices.Clone(s.Only), endLine.MatchString)
}

// interrupted reports whether the fork's error is upstream's, and why there was no time for a retry, which may add more to it.
func (i *Instant) interrupted(more string) bool {
	upType, up, _ := strings.Cut(i.Up.end("error"), " ")
	forkType, fork, _ := strings.Cut(i.Fork.end("error"), " ")
	before, _, ok := strings.Cut(fork, noTime)
	if !ok {
		before, _, ok = strings.Cut(fork, inBackoff)
	}
	wrapped, isTimeout := strings.CutPrefix(up, `"operation timed out: `) // by WithTransaction
	same := func(text string) bool { return text == before+`"` || strings.HasPrefix(text, before+": ") }
	cancelled := i.Fork.says("is", "context canceled") && !i.Up.says("is", "context canceled")
	if cancelled && i.Call.Cancel == 0 && i.Call.ID < monitors {
		return false
	}
	return ok && len(before) > 1 && i.adds(more) &&
		(same(up) && (forkType == upType || forkType == "backpressure.Interruption") || isTimeout && same(`"`+wrapped))
}

// adds reports whether the fork's error is what upstream's is, and what matches, too.
func (i *Instant) adds(more string) bool {
	up, fork := strings.Split(i.Up.end("is"), ", "), strings.Split(i.Fork.end("is"), ", ")
	isNew := func(one string) bool {
		return one != "" && !slices.Contains(up, one) && !re(`^(`+more+`)$`).MatchString(one)
	}
	lost := func(one string) bool { return one != "" && !slices.Contains(fork, one) }
	return !slices.ContainsFunc(up, lost) && !slices.ContainsFunc(fork, isNew)
}

// sameText reports whether the errors have the same text.
func (i *Instant) sameText() bool {
	text := func(s Side) string {
		_, text, _ := strings.Cut(s.end("error"), ` "`)
		return strings.TrimSpace(text) // a command's error has another space where it has no name
	}
	return text(i.Up) == text(i.Fork)
}

// sameResult reports whether the call returns the same, and upstream's details are among the fork's, which may have more labels.
func (i *Instant) sameResult() bool {
	up, fork := i.Up.end("detail"), i.Fork.end("detail")
	bare := func(detail string) string { return re(`\[("\w+" ?)*\]`).ReplaceAllString(detail, "") }
	return i.Up.end("returns") == i.Fork.end("returns") && strings.Contains(bare(fork), bare(up)) &&
		!slices.ContainsFunc(re(`"\w+"`).FindAllString(up, -1), func(label string) bool { return !strings.Contains(fork, label) })
}

// sameCourse reports whether the call goes on, and ends, in the same way, at whatever times, and by whichever router.
func (i *Instant) sameCourse() bool {
	course := func(lines []string) (rest []string) {
		for _, line := range lines {
			if !strings.HasPrefix(line, asideMark) {
				rest = append(rest, re(`127\.0\.0\.1:\d+| in \S+$|"t":\d+,"i":\d+|`+maxTime).ReplaceAllString(line, ""))
			}
		}
		slices.Sort(rest)
		return rest
	}
	return slices.Equal(course(i.Up.On), course(i.Fork.On))
}

// but reports whether the lines are the same but for what the pattern matches.
func (i *Instant) but(pattern string) bool {
	without := func(lines []string) (rest []string) {
		for _, line := range lines {
			rest = append(rest, re(pattern).ReplaceAllString(line, ""))
		}
		slices.Sort(rest)
		return rest
	}
	return slices.Equal(without(i.Up.Only), without(i.Fork.Only))
}

// String shows what only one of the drivers has.
func (i *Instant) String() string {
	return fmt.Sprintf("at %v, call %d %s\nonly upstream:\n\t%s\nonly the fork:\n\t%s", i.At, i.Call.ID, i.Call.Kind,
		strings.Join(i.Up.Only, "\n\t"), strings.Join(i.Fork.Only, "\n\t"))
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

// first returns the first line that matches a pattern, or nothing.
func first(lines []string, pattern string) string {
	if n := slices.IndexFunc(lines, re(pattern).MatchString); n >= 0 {
		return lines[n]
	}
	return ""
}

// last returns the last one.
func last(lines []string, pattern string) string {
	lines = slices.Clone(lines)
	slices.Reverse(lines)
	return first(lines, pattern)
}

// count returns how many lines match a pattern.
func count(lines []string, pattern string) (n int) {
	for _, line := range lines {
		if re(pattern).MatchString(line) {
			n++
		}
	}
	return n
}

// some reports whether a line matches a pattern.
func some(lines []string, pattern string) bool {
	return slices.ContainsFunc(lines, re(pattern).MatchString)
}

// every reports whether all lines match a pattern; none do if it is empty.
func every(lines []string, pattern string) bool {
	return len(lines) == 0 || pattern != "" && count(lines, pattern) == len(lines)
}
