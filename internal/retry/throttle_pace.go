package retry

import "time"

// pace is how often a client sends commands to a server that rejects some. Until a few are known, it counts as one that sends
// little: what it does not know cannot hold its retries back.
type pace struct {
	gap  time.Duration
	last time.Time
}

var unknownPace = pace{gap: 2500 * time.Millisecond}

const (
	// paceSample is the number of gaps after which the weight of one falls to 1/e.
	paceSample = 5
	// shortestGap keeps what is sent at once from looking like a pace.
	shortestGap = 100 * time.Millisecond
)

// ended records the end of a command's first attempt.
func (p *pace) ended(now time.Time) {
	if gap := now.Sub(p.last); gap > shortestGap {
		p.gap += (gap - p.gap) / paceSample
		p.last = now
	}
}

// tokens are what the retries of a client that sends little are paid with, in tenths: one for each attempt after a command's first.
// First attempts that are held back or accepted earn them, and so does the success of what was paid for.
type tokens int

const (
	mostTokens     tokens = 200
	oneToken       tokens = 10
	tokenOfSuccess tokens = 1
)

func (t *tokens) earn(tenths tokens) {
	if *t += tenths; *t > mostTokens {
		*t = mostTokens
	}
}

func (t *tokens) accepted(first bool) {
	t.earn(tokenOfSuccess)
	if !first {
		t.earn(oneToken)
	}
}

// pay takes a token, and reports whether there was one.
func (t *tokens) pay() bool {
	if *t < oneToken {
		return false
	}
	*t -= oneToken
	return true
}
