package sim

import (
	"slices"
	"time"
)

// drainedBelow is the share of all tokens below which buckets count as spent. A tenth, because in equilibrium a bucket is
// not empty all the time.
const drainedBelow = 0.1

// Result is what happened in the measured part of a simulation.
type Result struct {
	Scenario Scenario `json:"scenario"`

	// Arrived is the number of operations that the applications started, Sent that of the commands that servers received.
	Arrived int `json:"arrived"`
	Sent    int `json:"sent"`
	// Goodput is the rate of operations that succeeded, as a share of the capacity of all servers.
	Goodput float64 `json:"goodput"`
	// CommandsPerOperation is how often the operations which ended were sent, on average.
	CommandsPerOperation float64 `json:"commands_per_operation"`
	// Errors is the share of the operations which ended that ended in an error.
	Errors float64 `json:"errors"`
	// Median and P99 are the latencies of the operations that succeeded, backoffs included; zero if none did.
	Median time.Duration `json:"median_ns"`
	P99    time.Duration `json:"p99_ns"`
	// Drained is when nine tenths of the clients' tokens were spent for the first time, to a tenth of a second; zero if they never
	// were or the buckets did not start full.
	Drained time.Duration `json:"drained_ns,omitempty"`
	// Series is the goodput in each Interval of the scenario.
	Series []float64 `json:"series,omitempty"`
	// FirstServer is the share of the commands that were sent to the first server, in each Interval of a scenario that limits it.
	FirstServer []float64 `json:"first_server,omitempty"`
}

// tally counts what happens from a time on.
type tally struct {
	from     time.Duration
	interval time.Duration

	arrivals, sends, failures int
	attempts                  int             // of the operations that ended
	latencies                 []time.Duration // of the operations that succeeded
	series                    []int           // successes in each interval
	commands, first           []int           // commands in each interval, and those of them that were sent to the first server

	looked, drained time.Duration
}

func newTally(s Scenario) tally {
	t := tally{from: s.Warmup, interval: s.Interval}
	if s.Interval > 0 {
		n := (s.Duration + s.Interval - 1) / s.Interval
		t.series, t.commands, t.first = make([]int, n), make([]int, n), make([]int, n)
	}
	return t
}

func (t *tally) arrived(at time.Duration) {
	if at >= t.from {
		t.arrivals++
	}
}

func (t *tally) sent(at time.Duration, server int) {
	if at < t.from {
		return
	}
	t.sends++
	if t.interval > 0 {
		interval := (at - t.from) / t.interval
		t.commands[interval]++
		if server == 0 {
			t.first[interval]++
		}
	}
}

func (t *tally) failed(at time.Duration, attempts int) {
	if at >= t.from {
		t.failures++
		t.attempts += attempts
	}
}

func (t *tally) succeeded(at, latency time.Duration, attempts int) {
	if at < t.from {
		return
	}
	t.attempts += attempts
	t.latencies = append(t.latencies, latency)
	if t.interval > 0 {
		t.series[(at-t.from)/t.interval]++
	}
}

func (t *tally) result(s Scenario) Result {
	slices.Sort(t.latencies)
	successes := float64(len(t.latencies))
	ended := successes + float64(t.failures)
	capacity := s.Capacity * float64(s.Servers)
	var series []float64
	for _, n := range t.series {
		series = append(series, float64(n)/(capacity*s.Interval.Seconds()))
	}
	var first []float64
	if s.Limit > 0 {
		for i, n := range t.commands {
			first = append(first, ratio(float64(t.first[i]), float64(n)))
		}
	}
	return Result{
		Scenario:             s,
		Arrived:              t.arrivals,
		Sent:                 t.sends,
		Goodput:              successes / (capacity * s.Duration.Seconds()),
		CommandsPerOperation: ratio(float64(t.attempts), ended),
		Errors:               ratio(float64(t.failures), ended),
		Median:               percentile(t.latencies, 0.5),
		P99:                  percentile(t.latencies, 0.99),
		Drained:              t.drained,
		Series:               series,
		FirstServer:          first,
	}
}

// ratio returns zero where there is nothing to divide by.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// percentile returns the smallest value that the given share of the sorted values does not exceed.
func percentile(sorted []time.Duration, share float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}
