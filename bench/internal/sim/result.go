package sim

import (
	"slices"
	"time"
)

// drainedBelow is the share of all tokens below which buckets count as spent. A tenth, because in equilibrium a bucket is
// not empty all the time.
const drainedBelow = 0.1

// Result is the result of the measured part of a simulation.
type Result struct {
	Scenario Scenario `json:"scenario"`

	// Arrived is the number of operations that the applications started, Sent the number of commands that servers received.
	Arrived int `json:"arrived"`
	Sent    int `json:"sent"`
	// Refused is the number of attempts that clients did not send.
	Refused int `json:"refused,omitempty"`
	// Goodput is the rate of operations that succeeded, as a share of the capacity of all servers.
	Goodput float64 `json:"goodput"`
	// CommandsPerOperation is the mean number of commands of operations that ended.
	CommandsPerOperation float64 `json:"commands_per_operation"`
	// Errors is the share of the ended operations that failed.
	Errors float64 `json:"errors"`
	// Median and P99 are the latencies of the operations that succeeded, backoffs included; zero if none did.
	Median time.Duration `json:"median_ns"`
	P99    time.Duration `json:"p99_ns"`
	// Own is the share of the operations of the clients with the scenario's policy that succeed, Neighbours that of the others.
	Own        float64 `json:"own,omitempty"`
	Neighbours float64 `json:"neighbours,omitempty"`
	// Fairness is Jain's index of the clients' shares of successful operations: 1 if all are the same.
	Fairness float64 `json:"fairness,omitempty"`
	// Recovery is the time from the end of the first burst to the arrival of the last operation that fails before the next burst.
	Recovery time.Duration `json:"recovery_ns,omitempty"`
	// Drained is the time at which nine tenths of the clients' tokens were spent for the first time, to a tenth of a second; zero
	// if they never were or the buckets did not start full.
	Drained time.Duration `json:"drained_ns,omitempty"`
	// Series is the goodput in each Interval of the scenario.
	Series []float64 `json:"series,omitempty"`
	// FirstServer is the first server's share of the commands, in each Interval of a scenario that limits it.
	FirstServer []float64 `json:"first_server,omitempty"`
}

// tally counts from a given time on.
type tally struct {
	from     time.Duration
	interval time.Duration

	arrivals, sends, failures int
	refusals                  int
	attempts                  int             // of the operations that ended
	latencies                 []time.Duration // of the operations that succeeded
	series                    []int           // successes in each interval
	commands, first           []int           // commands in each interval, and those of them that were sent to the first server

	looked, drained time.Duration

	burstEnd, burstNext time.Duration // the end of the first burst and the start of the second
	recovery            time.Duration
}

func newTally(s Scenario) tally {
	t := tally{from: s.Warmup, interval: s.Interval}
	t.burstEnd, t.burstNext = s.Load.Start+s.Load.Burst, s.Load.Start+s.Load.Period
	if s.Interval > 0 {
		n := (s.Duration + s.Interval - 1) / s.Interval
		t.series, t.commands, t.first = make([]int, n), make([]int, n), make([]int, n)
	}
	return t
}

func (t *tally) arrived(at time.Duration, by *client) {
	if at >= t.from {
		t.arrivals++
		by.arrived++
	}
}

func (t *tally) refused(at time.Duration) {
	if at >= t.from {
		t.refusals++
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

func (t *tally) failed(op *operation) {
	if op.at >= t.from {
		t.failures++
		t.attempts += op.retries + 1 - op.refused
	}
	if op.arrived > t.burstEnd && op.arrived < t.burstNext {
		t.recovery = max(t.recovery, op.arrived-t.burstEnd)
	}
}

func (t *tally) succeeded(op *operation) {
	if op.at < t.from {
		return
	}
	if op.arrived >= t.from {
		op.client.served++
	}
	t.attempts += op.retries + 1 - op.refused
	t.latencies = append(t.latencies, op.at-op.arrived)
	if t.interval > 0 {
		t.series[(op.at-t.from)/t.interval]++
	}
}

func (t *tally) result(s Scenario, clients []*client) Result {
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
	own, others := shares(clients)
	return Result{
		Scenario:             s,
		Arrived:              t.arrivals,
		Sent:                 t.sends,
		Refused:              t.refusals,
		Goodput:              successes / (capacity * s.Duration.Seconds()),
		CommandsPerOperation: ratio(float64(t.attempts), ended),
		Errors:               ratio(float64(t.failures), ended),
		Median:               percentile(t.latencies, 0.5),
		P99:                  percentile(t.latencies, 0.99),
		Own:                  own,
		Neighbours:           others,
		Fairness:             fairness(clients),
		Recovery:             t.recovery,
		Drained:              t.drained,
		Series:               series,
		FirstServer:          first,
	}
}

// shares returns the shares of successful operations, of the clients with the scenario's policy and of the others.
func shares(clients []*client) (own, others float64) {
	var arrived, served [2]float64
	for _, c := range clients {
		i := 0
		if c.other {
			i = 1
		}
		arrived[i] += float64(c.arrived)
		served[i] += float64(c.served)
	}
	return ratio(served[0], arrived[0]), ratio(served[1], arrived[1])
}

// fairness returns Jain's index of the clients' shares.
func fairness(clients []*client) float64 {
	var sum, squares float64
	for _, c := range clients {
		share := ratio(float64(c.served), float64(c.arrived))
		sum += share
		squares += share * share
	}
	return ratio(sum*sum, squares*float64(len(clients)))
}

// ratio returns zero for a zero divisor.
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
