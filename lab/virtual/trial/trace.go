package trial

import (
	"regexp"
	"strings"
	"time"
)

// Trace is what happened in a trial.
type Trace struct {
	Lines    []string  `json:",omitempty"` // all that happened, with times
	Calls    []string  `json:",omitempty"` // what happened in the calls, or how they ended: see Run
	Outcomes []Outcome // of the calls
	// Flaws are what must never happen, whatever the plan.
	Flaws      []string `json:",omitempty"`
	Opened     int      // connections
	Unfinished int      // transactions that are left when all calls have returned
	Unstarted  int      // commands of transactions that have not been started there
	Cleared    int      // pools
	Minted     float64  // tokens that the log tells of, beyond those that are due
	Crash      string   `json:",omitempty"` // why there is no trace
}

// inCalls hides what a call need not have in common with one that has got over rejections: servers, and times.
var inCalls = regexp.MustCompile(`127\.0\.0\.1:\d+|` + maxTime.String() + `|, \$clusterTime: \{[^}]*\}+`)

// Outcome is how a call ended.
type Outcome struct {
	Call
	Start, End time.Duration
	Error      string `json:",omitempty"`
	Attempts   int    // the most of one command
	Retries    int    // of the first command, before any succeeded
	Failed     int    // commands that failed without an overload
	Refused    bool   // its last command was rejected
	Done       bool   // the servers did what it asked for
	// Overloaded is whether nothing but overload errors, and requests to authenticate again, ended its commands.
	Overloaded bool
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
