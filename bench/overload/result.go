package overload

import (
	"slices"
	"time"
)

// Result holds the figures of a run, or the means of several. Operations count if they were due in the measured time. Shares are in
// percent, times in seconds.
//
//	goodput                successes per second, of the capacity
//	committed              transactions per second, of the capacity
//	commands               that reached the server, per operation
//	errors, success        of the operations
//	p50, p99               the latency of what succeeded
//	fairness               Jain's index of the clients' shares of success
//	worst                  the share of success of the client with the lowest, of the mean
//	last error             from when the last class is no longer rejected until the last operation was due that failed
//	own, others            the success of the arm's clients and of their neighbours; "own share" is the one by the other
//	dials                  the number of new connections
//	in progress            the mean number of operations in progress
//	CLASS: success, p99    of a class of operations, without those of neighbours
type Result map[string]float64

// tally counts operations.
type tally struct {
	due, failed int
	latencies   []float64
}

func (t *tally) add(op *operation) {
	t.due++
	if op.failed {
		t.failed++
	} else {
		t.latencies = append(t.latencies, (op.ended - op.due).Seconds())
	}
}

func (t *tally) errors() float64 { return percent(float64(t.failed), float64(t.due)) }

// quantile returns a quantile of the latencies; zero without any.
func (t *tally) quantile(share float64) float64 {
	if len(t.latencies) == 0 {
		return 0
	}
	slices.Sort(t.latencies)
	return t.latencies[min(int(share*float64(len(t.latencies))), len(t.latencies)-1)]
}

// percent is zero of nothing.
func percent(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * part / whole
}

// result summarizes a run that has ended.
func (r *run) result() Result {
	s := r.job.Scenario
	until := s.Warmup + s.Duration
	measured := func(at time.Duration) bool { return at >= s.Warmup && at < until }
	var all, own, others tally
	clients := make([]tally, r.total(len(r.classes)))
	classes := make([]tally, len(r.classes))
	var total, inFlight float64
	var lastFailed time.Duration
	for i := range r.operations {
		op := &r.operations[i]
		inFlight += max(0, (min(op.ended, until) - max(op.due, s.Warmup)).Seconds())
		if op.failed {
			lastFailed = max(lastFailed, op.due)
		} else if measured(op.ended) {
			total++
		}
		if !measured(op.due) {
			continue
		}
		all.add(op)
		clients[op.client].add(op)
		if r.neighbour(op.client) {
			others.add(op)
			continue
		}
		own.add(op)
		classes[op.class].add(op)
	}
	result := Result{
		"goodput": percent(total, s.Capacity*s.Duration.Seconds()), "commands": float64(r.commands) / float64(all.due),
		"errors": all.errors(), "success": 100 - all.errors(), "p50": all.quantile(0.5), "p99": all.quantile(0.99),
		"own": 100 - own.errors(), "in progress": inFlight / s.Duration.Seconds(), "dials": float64(r.dials),
	}
	result["fairness"], result["worst"] = fairness(clients[:s.Clients])
	if s.Neighbours != "" {
		result["others"] = 100 - others.errors()
	}
	if n := r.committed.Load(); n > 0 {
		result["committed"] = percent(float64(n), s.Capacity*s.Duration.Seconds())
	}
	for i, class := range s.Classes {
		if class.Until > 0 {
			result["last error"] = max(0, (lastFailed - class.Until).Seconds())
		}
		result[class.Name+": success"], result[class.Name+": p99"] = 100-classes[i].errors(), classes[i].quantile(0.99)
	}
	return result
}

// fairness returns Jain's index of the clients' shares of success, and the lowest of these, of their mean.
func fairness(clients []tally) (jain, worst float64) {
	lowest, sum, squares, n := 1.0, 0.0, 0.0, 0.0
	for _, c := range clients {
		if c.due > 0 {
			share := 1 - float64(c.failed)/float64(c.due)
			lowest, sum, squares, n = min(lowest, share), sum+share, squares+share*share, n+1
		}
	}
	return sum * sum / (n * squares), lowest * n / sum
}

// Mean returns the means of several results of one scenario with one arm, and what follows from them.
func Mean(results []Result) Result {
	mean := Result{}
	for _, r := range results {
		for figure, v := range r {
			mean[figure] += v
		}
	}
	for figure := range mean {
		mean[figure] /= float64(len(results))
	}
	if others, ok := mean["others"]; ok {
		mean["own share"] = mean["own"] / others
	}
	return mean
}
