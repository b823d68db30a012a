package trial

import (
	"regexp"
	"strings"
	"time"
)

// Trace is what happened in a trial.
type Trace struct {
	Lines       []string      `json:",omitempty"` // all that happened, with times
	Calls       []string      `json:",omitempty"` // what happened in the calls, or how they ended: see Run
	Outcomes    []Outcome     // of the calls
	Opened      int           // connections
	Unfinished  int           // transactions that are left when all calls have returned
	Unstarted   int           // commands of transactions that have not been started there
	Undone      int           // aborts of transactions whose commit was executed, or may have been
	Minor       int           // commits that are sent again, though not for the majority
	Expired     int           // commits that are sent again after code 50
	Early       int           // pools that are ready before their server can be known
	Cleared     int           // pools
	Unannounced int           // handshakes that do not say backpressure
	Changed     int           // commands that were sent again after a rejection, and are not the same
	Unpaired    int           // events of commands whose counterpart is not there, or there twice
	Held        int           // connections that were checked out, or asked for, and no more
	Kept        time.Duration // how long one was kept, at most, whose command was rejected
	Minted      float64       // tokens that the log tells of, beyond those that are due
	Lost, Twice []int         `json:",omitempty"`
	Crash       string        `json:",omitempty"` // why there is no trace
}

// inCalls hides what a call need not have in common with one that has got over rejections: servers, and times.
var inCalls = regexp.MustCompile(`127\.0\.0\.1:\d+|` + maxTime.String() + `|, \$clusterTime: \{[^}]*\}+`)

// Outcome is how a call ended.
type Outcome struct {
	Call
	Start, End time.Duration
	Error      string   `json:",omitempty"`
	Labels     []string `json:",omitempty"` // that all replies have that failed
	Attempts   int      // the most of one command
	Retries    int      // of the first command, before any succeeded
	Failed     int      // commands that failed without an overload
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
	return len(o.commands()) == 1 && o.Alone() && !strings.Contains(o.Error, "E11000")
}

// Alone reports whether the call's commands are all that its way of being made sends.
func (c Call) Alone() bool { return c.Way == "" || c.Way == "session" || c.Way == "deadline" }

// Unhurried reports whether nothing ends the call early.
func (o Outcome) Unhurried() bool { return o.Deadline+o.Cancel == 0 }

// Retryable reports whether the call is one write that the server may get twice.
func (o Outcome) Retryable() bool { return o.Single() && kinds[o.Kind].effect >= isRetryable }
