package sim

import (
	"errors"
	"fmt"
	"time"

	"mongofork/bench/internal/arrival"
	"mongofork/internal/retry"
)

// Scenario is one simulation.
type Scenario struct {
	Policy Policy `json:"policy"`
	// Others is the policy of every other client, unless it is empty.
	Others Policy `json:"others,omitempty"`
	// Variant is the difference of throttling clients from the fork, if any.
	Variant *Variant `json:"variant,omitempty"`

	Servers int `json:"servers"`
	Clients int `json:"clients"`
	// Selection is the clients' choice among the servers.
	Selection Selection `json:"selection,omitempty"`

	// Capacity is the number of operations per second that each server can serve.
	Capacity float64 `json:"capacity"`
	// RejectionCost is the work of a rejection as a share of that of a served operation.
	RejectionCost float64 `json:"rejection_cost"`
	// Queue is the backlog of work from which on a server rejects.
	Queue time.Duration `json:"queue_ns"`
	// Limit, unless zero, is how many operations a second the first server admits during Warmup and then for the time LimitedFor.
	// It rejects others at once, which costs it nothing.
	Limit      float64       `json:"limit,omitempty"`
	LimitedFor time.Duration `json:"limited_for_ns,omitempty"`

	Load arrival.Load `json:"load"`
	// Warmup is simulated before Duration, which is measured.
	Warmup   time.Duration `json:"warmup_ns"`
	Duration time.Duration `json:"duration_ns"`
	Seed     uint64        `json:"seed"`

	// Interval, unless zero, asks for the goodput of each such part of Duration.
	Interval time.Duration `json:"interval_ns,omitempty"`
}

// Variant is a variant of the fork's throttling.
type Variant struct {
	// Rule decides which attempts are refused.
	Rule retry.Throttling `json:"rule"`
	// FailAtOnce makes refused operations fail instead of backing off.
	FailAtOnce bool `json:"fail_at_once,omitempty"`
	// FirstBackoff, unless zero, is the longest backoff before the first retry after a refusal. It doubles up to LastBackoff, and
	// is not less than the share LeastBackoff of that.
	FirstBackoff time.Duration `json:"first_backoff_ns,omitempty"`
	LastBackoff  time.Duration `json:"last_backoff_ns,omitempty"`
	LeastBackoff float64       `json:"least_backoff,omitempty"`
}

// decide changes the decision after the refusal of an attempt of that number, from 1. A nil variant is the fork.
func (v *Variant) decide(verdict retry.Verdict, attempt int, jitter func() float64) retry.Verdict {
	switch {
	case v == nil || !verdict.Retry:
	case v.FailAtOnce:
		verdict.Retry = false
	case v.FirstBackoff > 0:
		longest := v.FirstBackoff
		for i := 1; i < attempt && longest < v.LastBackoff; i++ {
			longest *= 2
		}
		share := v.LeastBackoff + (1-v.LeastBackoff)*jitter()
		verdict.Backoff = time.Duration(share * float64(min(longest, v.LastBackoff)))
	}
	return verdict
}

// Validate reports everything that is wrong with a scenario.
func (s Scenario) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("scenario: "+format, args...))
		}
	}
	check(s.Policy.valid(), "unknown policy %q", s.Policy)
	check(s.Others == "" || s.Others.valid(), "unknown policy %q", s.Others)
	check(s.Selection.valid(), "unknown selection %q", s.Selection)
	check(s.Servers > 0, "servers is %d, must be at least 1", s.Servers)
	check(s.Clients > 0, "clients is %d, must be at least 1", s.Clients)
	check(s.Capacity > 0, "capacity is %v operations a second, must be positive", s.Capacity)
	check(s.RejectionCost >= 0 && s.RejectionCost < 1, "rejection cost is %v, must be in [0, 1)", s.RejectionCost)
	check(s.Queue >= 0, "queue is %v, must not be negative", s.Queue)
	check(s.Limit >= 0 && s.LimitedFor >= 0, "limit is %v operations a second for %v, must not be negative", s.Limit, s.LimitedFor)
	if err := s.Load.Check(); err != nil {
		check(false, "%w", err)
	}
	check(s.Interval >= 0, "interval is %v, must not be negative", s.Interval)
	check(s.Warmup >= 0 && s.Duration > 0, "duration is %v after %v, must be positive", s.Duration, s.Warmup)
	return errors.Join(errs...)
}
