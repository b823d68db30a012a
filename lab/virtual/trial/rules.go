package trial

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// rule is what must not be, of a call or of all that happened.
type rule struct {
	text   string
	of     func(Plan) bool // the plans that it is for; nil stands for all
	ofCall func(Plan, *tally) bool
	ofAll  func(*application) bool
}

// judge notes which rules are broken.
func (a *application) judge() {
	a.mu.Lock()
	defer a.mu.Unlock()
	some := rules
	if a.plan.isHostile() {
		some = ofHostile
	}
	for _, r := range slices.Concat(always, some) {
		switch {
		case r.of != nil && !r.of(a.plan):
		case r.ofAll != nil:
			a.flaw(r.ofAll(a), r.text)
		default:
			for _, c := range a.tallies() {
				if r.ofCall(a.plan, c) {
					a.flaw(true, fmt.Sprintf("%s: %+v, from %v to %v: %s", r.text, c.Call, c.Start, c.End,
						describe(c.err)))
				}
			}
		}
	}
}

const roundTrip = 2 * time.Millisecond

// always holds also with hostile servers.
var always = []rule{
	{text: "a call panics", ofCall: func(_ Plan, c *tally) bool { return errors.Is(c.err, errPanic) }},
	{text: "a connection is not returned", ofAll: func(a *application) bool {
		had := a.pools[event.ConnectionCheckedOut]
		asked := a.pools[event.ConnectionCheckOutStarted] - a.pools[event.ConnectionCheckOutFailed]
		return had != a.pools[event.ConnectionCheckedIn] || asked != had
	}},
	{text: unpaired, ofAll: func(a *application) bool {
		for _, n := range a.pending {
			if n != 0 {
				return true
			}
		}
		return false
	}},
}

// rules hold with servers that are not hostile.
var rules = []rule{
	{text: "a write took place twice", ofCall: func(_ Plan, c *tally) bool { return c.Done > 1 }},
	{text: "an acknowledged write is lost", ofCall: func(_ Plan, c *tally) bool { return c.ok() && c.Lost }},
	{text: "a call outlives its deadline", ofCall: outlives},
	// Until a deadline a driver sends commands again and again; WithTransaction commits for two minutes, and minPoolSize connects
	// without end.
	{text: "a storm of connections", of: func(p Plan) bool {
		return !p.Has("within") && !p.Has("minPoolSize") && (!p.faulty(func(f Fault) bool { return !establishes(f.On) }) ||
			!slices.ContainsFunc(p.Calls, p.Hurries))
	}, ofAll: func(a *application) bool { return a.result.Opened > 100 }},
	{text: "a command is of a transaction that has not been started there",
		of:    func(p Plan) bool { return p.Passes() && p.OnlyRejects() },
		ofAll: func(a *application) bool { return a.unstarted > 0 }},
	{text: "a retry goes to the router again that failed", of: func(p Plan) bool {
		always := !p.faulty(func(f Fault) bool { return f.Host == 0 || f.Times < 1000 }) // at some of several servers
		return always && !p.Peaceful() && !p.Has("retry") && !p.Has("max")
	},
		ofCall: func(p Plan, c *tally) bool { return c.attempts() > 1+len(p.Faults) || c.single() && !c.ok() }},
	// Connections that cannot be established allow for more attempts, too.
	{text: "more attempts than are allowed", of: func(p Plan) bool { return p.Batch == 0 && !p.faulty(Fault.disturbs) },
		ofCall: func(p Plan, c *tally) bool {
			if c.Failed == 0 { // a timeout does not lift this limit
				return c.single() && c.Overloads > 1+p.Limit()
			}
			tooMany := c.Overloads == 0 && c.Failed > 2 || c.Failed+c.Overloads > 1+max(1, p.Limit())
			return c.single() && !p.Hurries(c.Call) && tooMany
		}},
	{text: "a pool is cleared for an overload", of: func(p Plan) bool {
		return !p.Peaceful() && !p.faulty(func(f Fault) bool {
			refuses := f.Passing && (f.On == "hello" || f.On == "isMaster")
			return !refuses && (f.What != Reject || f.disturbs())
		})
	},
		ofAll: func(a *application) bool { return a.pools[event.ConnectionPoolCleared] > 0 }},
	{text: "a retry though the option is off", of: func(p Plan) bool { return p.Batch == 0 && !p.Has("adaptiveThrottling=true") },
		ofCall: func(p Plan, c *tally) bool {
			return c.Alone() && p.Off(c.Call) && (c.Retries > 0 || c.single() && c.Failed+c.Overloads > 1)
		}},
	// A call that tells of a write concern error has taken place, and must not be made again.
	{text: "a write that met a network error does not say so, and that it may be retried", ofCall: func(p Plan, c *tally) bool {
		text := strings.TrimSpace(fmt.Sprint(c.err))
		met := mongo.IsNetworkError(c.err) || strings.HasPrefix(text, "connection(127")
		says := mongo.IsNetworkError(c.err) && hasLabel(c.err, "RetryableWriteError")
		return c.single() && kinds[c.Kind].effect >= isRetryable && !p.Off(c.Call) && p.Topology != "standalone" &&
			met && !says && !strings.Contains(text, "write concern error")
	}},
	{text: "a backoff lasts until the deadline", of: Plan.OnlyRejects, ofCall: func(_ Plan, c *tally) bool {
		return c.single() && c.Overloads > 0 && c.Failed == 0 && !c.ok() && c.Deadline > 0 && c.End >= c.Start+c.Deadline
	}},
	{text: "a write took place of which the error says that it did not", of: func(p Plan) bool { return p.Batch == 0 },
		ofCall: func(_ Plan, c *tally) bool { return c.single() && c.Done > 0 && hasLabel(c.err, "NoWritesPerformed") }},
	{text: "a call succeeds whose last attempt was rejected",
		ofCall: func(_ Plan, c *tally) bool { return c.single() && c.ok() && c.Refused }},
	// Of calls that are several commands it is not known which commands are retries.
	{text: "tokens are minted", of: func(p Plan) bool { return p.Batch == 0 && p.OnlyRejects() }, ofAll: func(a *application) bool {
		return a.minted > 0.01 && !slices.ContainsFunc(a.tallies(), func(c *tally) bool { return !c.single() })
	}},
	{text: "closing a cursor keeps its caller waiting", of: func(p Plan) bool {
		return !p.faulty(func(f Fault) bool { return f.Code != 13 && (f.What != Reject || f.On != "killCursors") })
	}, ofCall: func(p Plan, c *tally) bool {
		return slices.Contains([]string{"find", "aggregate"}, c.Kind) && c.Way == "" && c.Overloads == 0 &&
			c.End-c.Start > 10*roundTrip
	}},
	{text: "a backoff is too long", of: Plan.backsOff,
		ofCall: func(_ Plan, c *tally) bool { return len(c.backoffs) > 0 && slices.Max(c.backoffs) > 1 }},
	// The first, and those that have a bound, may be right with a wrong exponent. All n are as short by chance once in longest^-n
	// plans.
	{text: "all backoffs are too short", of: Plan.backsOff, ofAll: func(a *application) bool {
		n, longest := 0, 0.0
		for _, c := range a.tallies() {
			for i, part := range c.backoffs {
				if i > 0 && i < 7 && (c.single() || c.Overloads == 0) {
					n, longest = n+1, max(longest, part)
				}
			}
		}
		return math.Pow(longest, float64(n)) < 1e-7
	}},
}

// backsOff reports whether nothing but backoffs comes between the attempts of a call.
func (p Plan) backsOff() bool {
	return p.Steady() && p.Batch == 0 && !p.Has("adaptiveThrottling=true") &&
		!p.faulty(func(f Fault) bool { return establishes(f.On) || f.What != Reject && f.Code != 112 })
}

// transactionEnd is how long the end of a transaction may take with its backoffs, and with what goes wrong with the network.
const transactionEnd = 10 * time.Second

// outlives is whether a call of one command outlives its deadline by more than a few round trips; WithTransaction may take more, to end
// its transaction, and with a Timeout has that anew.
func outlives(p Plan, c *tally) bool {
	if c.Deadline+c.Cancel == 0 {
		return false
	}
	late := c.End - (c.Start + c.Deadline + c.Cancel)
	return c.single() && late > 2*roundTrip || c.Way == "within" && !p.Has("timeoutMS") && late > transactionEnd
}

func (c *tally) ok() bool { return c.err == nil }

// attempts returns the most of one command.
func (c *tally) attempts() (most int) {
	for _, n := range c.sent {
		most = max(most, n)
	}
	return most
}

// single reports whether the call is one command. A document that is there twice needs a second batch.
func (c *tally) single() bool {
	return len(c.commands()) == 1 && c.Alone() && !mongo.IsDuplicateKeyError(c.err)
}
