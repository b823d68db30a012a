package trial

import (
	"cmp"
	"fmt"
	"iter"
	"math"
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
	Up   Side // upstream
	Fork Side
}

// Side is what one of the drivers shows of the call.
type Side map[part][]string

// part are some of the lines, or how the call ends.
type part string

const (
	only   part = "only" // those of the instant that the other driver has not
	rest   part = "rest" // those of them that tell of no end
	now    part = "now"  // all of the instant
	before part = "before"
	soFar  part = "so far" // until the instant's end
	on     part = "on"     // from the instant on

	fails   part = "error"
	is      part = "is"
	detail  part = "detail"
	returns part = "returns"
)

// Instants yields those of each time at which the traces differ, within a width: one for each call of which lines are different then.
func Instants(plan Plan, up, fork Trace, width time.Duration) iter.Seq[[]Instant] {
	return func(yield func([]Instant) bool) {
		a, b := without(up.Lines, fork.Lines, width), without(fork.Lines, up.Lines, width)
		for len(a)+len(b) > 0 {
			at := slices.MinFunc(slices.Concat(a, b), func(x, y Line) int { return cmp.Compare(x.At, y.At) }).At
			var onlyUp, onlyFork []Line
			onlyUp, a = until(a, at+width)
			onlyFork, b = until(b, at+width)
			var group []Instant
			for _, l := range slices.Concat(onlyUp, onlyFork) {
				if slices.ContainsFunc(group, func(i Instant) bool { return i.Call.ID == l.Call }) {
					continue
				}
				group = append(group, Instant{Plan: plan, Call: plan.call(l.Call), At: at,
					Up: side(up.Lines, onlyUp, l.Call, at, width), Fork: side(fork.Lines, onlyFork, l.Call, at, width)})
			}
			if !yield(group) {
				return
			}
		}
	}
}

// without returns the lines that others have not, or not as often, at times that are so far apart at most.
func without(lines, others []Line, apart time.Duration) (missing []Line) {
	times := map[Line][]time.Duration{}
	for _, l := range others {
		said := Line{Call: l.Call, Text: l.Text}
		times[said] = append(times[said], l.At)
	}
	for _, l := range lines {
		said := Line{Call: l.Call, Text: l.Text}
		for len(times[said]) > 0 && times[said][0] < l.At-apart {
			times[said] = times[said][1:]
		}
		switch {
		case l.Aside():
		case len(times[said]) > 0 && times[said][0] <= l.At+apart:
			times[said] = times[said][1:]
		default:
			missing = append(missing, l)
		}
	}
	return missing
}

// until returns the lines until a time, and the others.
func until(lines []Line, at time.Duration) (earlier, later []Line) {
	n := 0
	for n < len(lines) && lines[n].At <= at {
		n++
	}
	return lines[:n], lines[n:]
}

func side(lines, alone []Line, call int, at, width time.Duration) Side {
	of := func(lines []Line, from, until time.Duration) (texts []string) {
		for _, l := range lines {
			if l.Call == call && l.At >= from && l.At <= until {
				texts = append(texts, l.Text)
			}
		}
		return texts
	}
	s := Side{only: of(alone, at, ever), now: of(lines, at, at+width), before: of(lines, 0, at-1), soFar: of(lines, 0, at+width),
		on: of(lines, at, ever)}
	s[rest] = slices.DeleteFunc(slices.Clone(s[only]), re(`^(error|is|detail|returns)`).MatchString)
	for _, what := range []part{fails, is, detail, returns} {
		s[what] = []string{endOf(s[now], what)}
	}
	return s
}

const ever = math.MaxInt64

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
	return i.Call.ID == 0 || i.Call.ID >= monitors || i.ends() == "none" && shifted(i)
}

// Strays reports whether a call that nothing ends early, and that has not ended yet, ends otherwise with the fork.
func (i *Instant) Strays() bool {
	end := func(s Side) string { return endOf(s[on], is) + endOf(s[on], detail) + endOf(s[on], returns) }
	switch {
	case i.Call.ID == 0, i.Plan.Hurries(i.Call), i.ends() != "none", end(i.Up) == end(i.Fork):
		return false
	case len(i.Plan.Workers()) > 1, reauthenticates(i):
		return false // faults that are for others, or for other commands of this one
	}
	return !some(slices.Concat(i.Up[on], i.Fork[on]), `^error `) || len(i.Plan.Faults) == 0 || !ofKind("clientBulk.*")(i)
}

// ends says with which driver the call ends.
func (i *Instant) ends() string {
	switch up, fork := i.Up.end(returns), i.Fork.end(returns); {
	case up == "" && fork == "":
		return "none"
	case fork == "":
		return "up"
	case up == "":
		return "fork"
	}
	return "both"
}

// end returns what the call's end says, if it ends.
func (s Side) end(what part) string { return s[what][0] }

func endOf(lines []string, what part) string {
	return strings.TrimPrefix(find(lines, `^`+string(what)+` `), string(what)+" ")
}

// failure returns the type of the call's error, and its text.
func (s Side) failure() (kind, text string) {
	kind, text, _ = strings.Cut(s.end(fails), ` "`)
	return kind, strings.TrimSuffix(text, `"`)
}

// alike reports whether the lines are the same, in whatever order, but for what the pattern matches.
func alike(a, b []string, pattern string) bool {
	bare := func(lines []string) (rest []string) {
		for _, line := range lines {
			if line = re(pattern).ReplaceAllString(line, ""); line != "" {
				rest = append(rest, line)
			}
		}
		return slices.Sorted(slices.Values(rest))
	}
	return slices.Equal(bare(a), bare(b))
}

// String shows what only one of the drivers has.
func (i *Instant) String() string {
	return fmt.Sprintf("at %v, call %d %s\nonly upstream:\n\t%s\nonly the fork:\n\t%s", i.At, i.Call.ID, i.Call.Kind,
		strings.Join(i.Up[only], "\n\t"), strings.Join(i.Fork[only], "\n\t"))
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

// matching returns the lines that match a pattern.
func matching(lines []string, pattern string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return !re(pattern).MatchString(line) })
}

// find returns the first of them, or nothing.
func find(lines []string, pattern string) string { return append(matching(lines, pattern), "")[0] }

func count(lines []string, pattern string) int { return len(matching(lines, pattern)) }

func some(lines []string, pattern string) bool {
	return slices.ContainsFunc(lines, re(pattern).MatchString)
}

// every reports whether all lines match a pattern; none do if it is empty.
func every(lines []string, pattern string) bool {
	return len(lines) == 0 || pattern != "" && count(lines, pattern) == len(lines)
}
