package trial

import (
	"slices"
	"strings"
	"time"
)

// Trace is what happened in a trial.
type Trace struct {
	Digest      string // of the lines
	Lines       []Line `json:",omitempty"`
	Outcomes    []Outcome
	Opened      int           // connections
	Unfinished  int           // transactions that are left when all calls have returned
	Unstarted   int           // commands of transactions that have not been started there
	Early       int           // pools that are ready before their server can be known
	Cleared     int           // pools
	Unannounced int           // handshakes that do not say backpressure
	Changed     int           // commands that were sent again after a rejection, and are not the same
	Unpaired    int           // events of commands whose counterpart is not there, or there twice
	Held        int           // connections that were checked out, or asked for, and no more
	Minted      float64       // tokens that the log tells of, beyond those that are due
	Lost, Twice []int         `json:",omitempty"`
	Untouched   bool          `json:",omitempty"` // whether the driver is upstream's
	Limit       int           // of retries after overload errors
	Backoff     time.Duration // the longest before the first of them; it doubles with each
	Crash       string        `json:",omitempty"` // why there is no trace
}

// Line is what happened at a time, in a call, or in none.
type Line struct {
	At   time.Duration
	Call int
	Text string
}

// asideMark begins what lines tell beside what is compared.
const asideMark = "("

// Aside reports whether the line is not compared.
func (l Line) Aside() bool { return strings.HasPrefix(l.Text, asideMark) }

// Outcome is how a call ended.
type Outcome struct {
	Call
	Start, End time.Duration
	Error      string `json:",omitempty"`
	Attempts   int    // the most of one command
	Panicked   bool
	Refused    bool // its last command was rejected
	Done       bool // the servers did what it asked for
	// Overloaded is whether nothing but overload errors, and requests to authenticate again, ended its commands.
	Overloaded bool

	written []int // documents that are there if it succeeded
}

// OK reports whether the call succeeded.
func (o Outcome) OK() bool { return o.Error == "" }

// Single reports whether the call is one command. A document that is there twice needs a second batch.
func (o Outcome) Single() bool {
	return len(strings.Fields(kinds[o.Kind].commands)) == 1 && !strings.Contains(o.Error, "E11000")
}

// Unhurried reports whether nothing ends the call early.
func (o Outcome) Unhurried() bool { return o.Deadline+o.Cancel == 0 }

// Retryable reports whether the call is one write that the server may get twice.
func (o Outcome) Retryable() bool { return o.Single() && kinds[o.Kind].effect >= isRetryable }

// BeyondLimit reports whether a command was retried more often than a limit allows.
func (t Trace) BeyondLimit(limit int) bool {
	return slices.ContainsFunc(t.Outcomes, func(o Outcome) bool {
		const many = 100 // other kinds may send a command several times
		return o.Single() && o.Attempts > limit+1 || o.Attempts > many
	})
}

// Well reports whether the first n calls succeeded, and so did what they asked for.
func (t Trace) Well(n int) bool {
	return !slices.ContainsFunc(t.Outcomes[:n], func(o Outcome) bool { return !o.OK() || o.Refused })
}
