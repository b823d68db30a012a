package overload

import (
	"slices"
	"time"
)

// interval is the length of the parts of a run that tell when it has recovered.
const interval = 500 * time.Millisecond

// Result is the result of a run, or the means of several. Operations count if they were due in the measured time. Shares are in
// percent, times in seconds.
type Result struct {
	Goodput  float64 // successes per second, of the capacity
	Commands float64 // that reached the server, per operation
	Errors   float64 // of the operations
	// P50 and P99 are the latency of what succeeded.
	P50, P99 float64
	// Fairness is Jain's index of the clients' shares of success.
	Fairness float64
	// Recovery is the time from the end of the first burst until nine tenths of an interval's operations succeed, and LastError
	// that until the last operation was due that failed.
	Recovery, LastError float64
	// Own and Others are the success of the arm's clients and of their neighbours.
	Own, Others float64
	// InFlight is the mean number of operations in progress.
	InFlight float64
	Classes  []ClassResult
	Storm    StormResult
}

// ClassResult is the result of a class of operations, without those of neighbours.
type ClassResult struct {
	Name    string
	Success float64
	// Failed is the share that failed of what was due after the first second.
	Failed float64
	P99    float64
}

// StormResult is the result of a storm.
type StormResult struct {
	Unconnected float64 // clients of which no operation succeeded
	Half, Last  float64 // when half of the clients, and the last, had their first success
	Errors      float64 // that applications saw
	Cleared     float64 // pools
	Heartbeats  float64 // that failed
	Connections float64 // that a herd opened
}

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
	clients := make([]tally, s.Clients)
	classes, later := make([]tally, len(r.classes)), make([]tally, len(r.classes))
	intervals := make([]tally, (s.Duration+interval-1)/interval)
	var total, inFlight float64
	for i := range r.operations {
		op := &r.operations[i]
		inFlight += max(0, (min(op.ended, until) - max(op.due, s.Warmup)).Seconds())
		if !op.failed && measured(op.ended) {
			total++
		}
		if !measured(op.due) {
			continue
		}
		for _, t := range []*tally{&all, &clients[op.client], &intervals[(op.due-s.Warmup)/interval]} {
			t.add(op)
		}
		if s.Neighbours != "" && op.client%2 == 1 {
			others.add(op)
			continue
		}
		own.add(op)
		classes[op.class].add(op)
		if op.due >= time.Second {
			later[op.class].add(op)
		}
	}
	result := Result{
		Goodput: percent(total, s.Capacity*s.Duration.Seconds()), Commands: float64(r.commands) / float64(all.due),
		Errors: all.errors(),
		P50:    all.quantile(0.5), P99: all.quantile(0.99), Fairness: fairness(clients),
		Own: 100 - own.errors(), Others: 100 - others.errors(), InFlight: inFlight / s.Duration.Seconds(),
	}
	result.Recovery, result.LastError = r.recovery(intervals)
	for i, class := range r.classes {
		result.Classes = append(result.Classes, ClassResult{
			class.Name, 100 - classes[i].errors(), later[i].errors(), classes[i].quantile(0.99),
		})
	}
	return result
}

// recovery returns the times from the end of the first burst until nine tenths of the operations of an interval succeed, and until
// the last operation was due that failed.
func (r *run) recovery(intervals []tally) (ninths, last float64) {
	s := r.job.Scenario
	if s.Load.Period == 0 {
		return 0, 0
	}
	end := s.Load.Start + s.Load.Burst - s.Warmup
	ninths = (s.Duration - end).Seconds() // at least
	for i := int(end / interval); i < len(intervals); i++ {
		if intervals[i].failed*10 <= intervals[i].due {
			ninths = (time.Duration(i)*interval - end).Seconds()
			break
		}
	}
	for i := range r.operations {
		if op := &r.operations[i]; op.failed {
			last = max(last, (op.due - s.Warmup - end).Seconds())
		}
	}
	return ninths, last
}

// fairness is Jain's index of the shares of success.
func fairness(clients []tally) float64 {
	var sum, squares, n float64
	for _, c := range clients {
		if c.due == 0 {
			continue
		}
		share := 1 - float64(c.failed)/float64(c.due)
		sum, squares, n = sum+share, squares+share*share, n+1
	}
	return sum * sum / (n * squares)
}

// numbers are all numbers of a result.
func (r *Result) numbers() []*float64 {
	all := []*float64{
		&r.Goodput, &r.Commands, &r.Errors, &r.P50, &r.P99, &r.Fairness, &r.Recovery, &r.LastError, &r.Own, &r.Others, &r.InFlight,
		&r.Storm.Unconnected, &r.Storm.Half, &r.Storm.Last, &r.Storm.Errors, &r.Storm.Cleared, &r.Storm.Heartbeats,
		&r.Storm.Connections,
	}
	for i := range r.Classes {
		c := &r.Classes[i]
		all = append(all, &c.Success, &c.Failed, &c.P99)
	}
	return all
}

// Mean returns the means of several results of one scenario with one arm.
func Mean(results []Result) Result {
	mean := results[0]
	mean.Classes = slices.Clone(mean.Classes)
	for i, sum := range mean.numbers() {
		for _, r := range results[1:] {
			*sum += *r.numbers()[i]
		}
		*sum /= float64(len(results))
	}
	return mean
}
