package openloop

import (
	"slices"
	"time"
)

// Report is the result. Operations count if they were due in the measured time, replies if they arrived in it.
type Report struct {
	Arrived   int `json:"arrived"`
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"`
	GivenUp   int `json:"given_up"` // had not ended when the run did
	// Commands is the number of commands that the succeeded and failed operations sent.
	Commands int `json:"commands"`

	// Served and Rejected are the replies to commands in the measured time, Good the operations that succeeded in it.
	Served   int `json:"served"`
	Rejected int `json:"rejected"`
	Good     int `json:"good"`

	// Latency is that of successful operations, from the time they were due; Lag is the delay with which operations began.
	Latency Percentiles `json:"latency"`
	Lag     Percentiles `json:"lag"`
	// Series has an element for each interval of the measured time.
	Series []Interval `json:"series"`
	// Clients has an element for each client.
	Clients []Share `json:"clients"`

	// Drain reports how the tokens were spent before the load; nil if they were not.
	Drain *Drain `json:"drain,omitempty"`
}

// Percentiles are percentiles of durations; zero if there were none.
type Percentiles struct {
	P50  time.Duration `json:"p50_ns"`
	P99  time.Duration `json:"p99_ns"`
	P999 time.Duration `json:"p99.9_ns"`
}

// Interval is a part of the measured time: the operations that were due in it, and those that succeeded in it.
type Interval struct {
	Due  int `json:"due"`
	Good int `json:"good"`
}

// Share is a client's number of operations and of successes.
type Share struct {
	Arrived   int `json:"arrived"`
	Succeeded int `json:"succeeded"`
}

// report summarizes a run that has ended.
func (r *run) report() *Report {
	report := &Report{
		Served: int(r.served.Load()), Rejected: int(r.rejected.Load()), Drain: r.drained,
		Series:  make([]Interval, (r.plan.Duration+r.plan.Interval-1)/r.plan.Interval),
		Clients: make([]Share, r.plan.Clients),
	}
	var latencies, lags []time.Duration
	for i := range r.operations {
		op := &r.operations[i]
		if op.outcome == succeeded && r.measures(op.ended) {
			report.Good++
			report.Series[(op.ended-r.plan.Warmup)/r.plan.Interval].Good++
		}
		if !r.measures(op.due) {
			continue
		}
		report.Series[(op.due-r.plan.Warmup)/r.plan.Interval].Due++
		lags = append(lags, op.began-op.due)
		if op.outcome == succeeded {
			latencies = append(latencies, op.ended-op.due)
		}
		report.count(op)
	}
	report.Latency, report.Lag = percentiles(latencies), percentiles(lags)
	return report
}

// count counts an operation that was due in the measured time.
func (r *Report) count(op *operation) {
	share := &r.Clients[op.client]
	r.Arrived++
	share.Arrived++
	if op.outcome == givenUp {
		r.GivenUp++
		return
	}
	r.Commands += int(op.commands.Load())
	if op.outcome == failed {
		r.Failed++
		return
	}
	r.Succeeded++
	share.Succeeded++
}

func percentiles(all []time.Duration) Percentiles {
	if len(all) == 0 {
		return Percentiles{}
	}
	slices.Sort(all)
	at := func(share float64) time.Duration { return all[min(int(share*float64(len(all))), len(all)-1)] }
	return Percentiles{P50: at(0.5), P99: at(0.99), P999: at(0.999)}
}
