package trial

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Instant is where two traces differ.
type Instant struct {
	Plan Plan
	At   time.Duration
	// Upstream and Fork are the lines that only one of the traces has, All those of both.
	Upstream, Fork, All []string
	// Before are the lines of both until then, and the others those from then on.
	Before, UpstreamOn, ForkOn []string
	// Under has the call that is under way, by its worker.
	Under map[int]Call
}

// Under returns the calls that workers have begun last at a time.
func (p Plan) Under(at time.Duration, traces ...Trace) map[int]Call {
	workers, under, begun := slices.Sorted(maps.Keys(p.Workers())), map[int]Call{}, map[int]time.Duration{}
	for _, t := range traces {
		for _, o := range t.Outcomes {
			if n := slices.Index(workers, o.Worker) + 1; o.Start <= at && o.Start >= begun[n] {
				under[n], begun[n] = o.Call, o.Start
			}
		}
	}
	return under
}

// timeWidth is the length of a line's time.
const timeWidth = 12

// At returns the time of a line.
func At(line string) time.Duration {
	ms, _ := strconv.ParseFloat(strings.TrimSpace(line[:timeWidth]), 64)
	return time.Duration(ms*1000+0.5) * time.Microsecond
}

// Of returns the lines of a call, without times.
func (t Trace) Of(call int) (lines []string) {
	for _, line := range t.Lines {
		if strings.Contains(line, fmt.Sprintf(" call %d ", call)) {
			lines = append(lines, line[timeWidth:])
		}
	}
	return lines
}

// soon reports whether the other driver has the lines within two microseconds, but for the time that a transaction begins with.
func soon(lines, others []string) bool {
	begins := re(`(startTransaction: true.*)maxTimeMS: \{"\$numberLong":"\d+"\}`)
	timeless := func(line string) string { return begins.ReplaceAllString(line[timeWidth:], "$1") }
	return !slices.ContainsFunc(lines, func(line string) bool {
		return len(line) < timeWidth || !slices.ContainsFunc(others, func(other string) bool {
			return (At(other)-At(line)).Abs() <= 2*time.Microsecond && timeless(other) == timeless(line)
		})
	})
}

// but reports whether the lines are the same but for what the pattern matches.
func (i Instant) but(pattern string) bool {
	without := func(lines []string) (rest []string) {
		for _, line := range lines {
			rest = append(rest, re(pattern).ReplaceAllString(line, ""))
		}
		slices.Sort(rest)
		return rest
	}
	return slices.Equal(without(i.Upstream), without(i.Fork))
}

// under matches the numbers and kinds of the calls under way that are of some kinds; it is empty if there are none.
func (i Instant) under(kinds []string) string {
	var calls []string
	for _, c := range i.Under {
		if slices.Contains(kinds, c.Kind) {
			calls = append(calls, fmt.Sprintf(`%d (%s|\w+Again)`, c.ID, c.Kind))
		}
	}
	return strings.Join(calls, "|")
}

var asking = regexp.MustCompile(`ConnectionCheckOutStarted .*?(?:by (\d+))?$`)

// bound reports whether no call asks for a connection but those of some kinds.
func (i Instant) bound(kinds []string) bool {
	return !slices.ContainsFunc(slices.Concat(i.Upstream, i.Fork), func(line string) bool {
		match := asking.FindStringSubmatch(line)
		if match == nil {
			return false
		}
		worker, _ := strconv.Atoi(match[1])
		return !slices.Contains(kinds, i.Under[worker].Kind)
	})
}

// later reports whether one of these lines matches, and is of a call under way of these kinds if the pattern has CALL.
func (i Instant) later(lines []string, pattern string, kinds []string) bool {
	return some(lines, strings.ReplaceAll(pattern, "CALL", "("+i.under(kinds)+")"))
}

// limited reports whether the client has a Timeout.
func (i Instant) limited() bool { return i.Plan.timeout() > 0 }

// reauthenticates reports whether a command fails with code 391.
func (i Instant) reauthenticates() bool {
	return i.Plan.faulty(func(f Fault) bool { return f.Code == 391 })
}

// unknown reports whether a commit ends of which it is not known whether it took place, or has ended if its monitor takes its time.
func (i Instant) unknown() bool {
	lines := i.All
	if i.Plan.Monitor.Takes+i.Plan.Monitor.Asks > 0 {
		lines = slices.Concat(i.Before, i.All)
	}
	return some(lines, `event failed commitTransaction`) || some(lines, `event succeeded commitTransaction`) &&
		i.Plan.failsConcern("commitTransaction")
}

// starts returns how many commands, by names and calls, upstream and the fork start from then on.
func (i Instant) starts(what string) (up, fork int) {
	started := re("event started " + what)
	count := func(lines []string) (n int) {
		for _, line := range lines {
			if started.MatchString(line) {
				n++
			}
		}
		return n
	}
	return count(i.UpstreamOn), count(i.ForkOn)
}

// asOften reports whether both start a command of a name equally often from then on.
func (i Instant) asOften(name string) bool {
	up, fork := i.starts(name)
	return up == fork
}

// endsEarly reports whether a call under way of some kinds has a deadline, or is cancelled.
func (i Instant) endsEarly(kinds ...string) bool {
	for _, c := range i.Under {
		if slices.Contains(kinds, c.Kind) && (c.Deadline+c.Cancel > 0 || i.Plan.timeout() > 0) {
			return true
		}
	}
	return false
}

// end is how a call ends: what it says after error, is, detail and returns.
type end map[string]string

func (e end) matches(what, pattern string) bool {
	return e[what] != "" && re(pattern).MatchString(e[what])
}

// ends are how a call ends with both drivers, as far as that differs.
type ends struct {
	call     string // its number and kind
	several  bool   // calls
	up, fork end
	restUp   []string // the other lines
	restFork []string
}

var endLine = regexp.MustCompile(`^ *(?:[\d.]+ )?call (\d+ \w+) (error|is|detail|returns)(.*)$`)

// ended returns the end of the instant's only call.
func (i Instant) ended() (e ends) {
	side := func(lines []string) (found end, rest []string) {
		found = end{}
		for _, line := range lines {
			match := endLine.FindStringSubmatch(line)
			if match == nil {
				rest = append(rest, line)
				continue
			}
			e.several = e.several || e.call != "" && e.call != match[1]
			e.call, found[match[2]] = match[1], match[3]
		}
		return found, rest
	}
	e.up, e.restUp = side(i.Upstream)
	e.fork, e.restFork = side(i.Fork)
	return e
}

// parts are the instant's differences by the call that ends. What ends none is in the first.
func (i Instant) parts() (parts []Instant) {
	var calls []string
	for _, line := range slices.Concat(i.Upstream, i.Fork) {
		if match := endLine.FindStringSubmatch(line); match != nil && !slices.Contains(calls, match[1]) {
			calls = append(calls, match[1])
		}
	}
	for n, call := range calls {
		others := func(line string) bool {
			match := endLine.FindStringSubmatch(line)
			return match == nil && n > 0 || match != nil && match[1] != call
		}
		part := i
		part.Upstream = slices.DeleteFunc(slices.Clone(i.Upstream), others)
		part.Fork = slices.DeleteFunc(slices.Clone(i.Fork), others)
		parts = append(parts, part)
	}
	return parts
}

func (e ends) kind() string {
	_, kind, _ := strings.Cut(e.call, " ")
	return kind
}

// which says what ends, and with which drivers.
func (e ends) which() string {
	switch {
	case e.several:
		return "several"
	case e.call == "":
		return "none"
	case len(e.fork) == 0:
		return "up " + e.kind()
	case len(e.up) == 0:
		return "fork " + e.kind()
	}
	return "both " + e.kind()
}

// interrupted reports whether the fork's error is upstream's, and why there was no time for a retry, which may add more to it.
func (e ends) interrupted(more string) bool {
	upType, up, _ := strings.Cut(strings.TrimSpace(e.up["error"]), " ")
	forkType, fork, _ := strings.Cut(strings.TrimSpace(e.fork["error"]), " ")
	before, _, ok := strings.Cut(fork, noTime)
	wrapped, isTimeout := strings.CutPrefix(up, `"operation timed out: `) // by WithTransaction
	return ok && strings.HasPrefix(up, before) && (forkType == upType || forkType == "backpressure.Interruption") && e.adds(more) ||
		ok && isTimeout && strings.HasPrefix(`"`+wrapped, before) && e.adds(more)
}

// adds reports whether the fork's error is what upstream's is, and what matches, too.
func (e ends) adds(more string) bool {
	up, fork := strings.Split(strings.TrimSpace(e.up["is"]), ", "), strings.Split(strings.TrimSpace(e.fork["is"]), ", ")
	new := func(one string) bool {
		return one != "" && !slices.Contains(up, one) && !re(`^(`+more+`)$`).MatchString(one)
	}
	lost := func(one string) bool { return one != "" && !slices.Contains(fork, one) }
	return !slices.ContainsFunc(up, lost) && !slices.ContainsFunc(fork, new)
}

// sameText reports whether the errors have the same text.
func (e ends) sameText() bool {
	_, up, _ := strings.Cut(e.up["error"], ` "`)
	_, fork, _ := strings.Cut(e.fork["error"], ` "`)
	return up == fork
}

// sameResult reports whether the call returns the same, and upstream's details are among the fork's.
func (e ends) sameResult() bool {
	return e.up["returns"] == e.fork["returns"] && strings.Contains(e.fork["detail"], strings.TrimSpace(e.up["detail"]))
}

// deadline reports whether a call, of a number and kind, has a deadline.
func (p Plan) deadline(call string) bool {
	return p.timeout() > 0 || slices.ContainsFunc(p.Calls, func(c Call) bool {
		return fmt.Sprintf("%d %s", c.ID, c.Kind) == call && c.Deadline > 0
	})
}
