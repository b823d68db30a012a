package retry

import "time"

// pace is how often a client sends commands to a server that rejects some. Until two are known, it counts as one that sends little.
type pace struct {
	gap     time.Duration
	samples int // of gaps, at most paceSample
	last    time.Time
}

var unknownPace = pace{gap: 2500 * time.Millisecond, samples: 2}

const (
	paceSample  = 8                      // gaps after it, the weight of one falls to 1/e
	shortestGap = 100 * time.Millisecond // keeps what is sent at once from looking like a pace
)

// ended records the end of a command's first attempt.
func (p *pace) ended(now time.Time) {
	if gap := now.Sub(p.last); gap > shortestGap {
		if p.samples < paceSample {
			p.samples++
		}
		p.gap += (gap - p.gap) / time.Duration(p.samples)
		p.last = now
	}
}

// tokens, in tenths, are what a client that sends little pays its retries with. What is accepted earns them.
type tokens int

const (
	mostTokens     tokens = 200
	oneToken       tokens = 10
	tokenOfSuccess tokens = 1
)

func (t *tokens) accepted(first bool) {
	*t += tokenOfSuccess
	if !first {
		*t += oneToken
	}
	if *t > mostTokens {
		*t = mostTokens
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
