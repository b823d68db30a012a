package openloop

import (
	"fmt"
	"time"
)

// Schedule is a plan for programs in other languages, with all random choices of a Plan made.
type Schedule struct {
	URI      string `json:"uri"`
	Database string `json:"database"`
	Clients  int    `json:"clients"`
	// Due is the start of each operation, from the start of the load, and Client the index of its client.
	Due    []time.Duration `json:"due_ns"`
	Client []int           `json:"client"`
	// Patience is the time after the last arrival at which unfinished operations are abandoned.
	Patience time.Duration `json:"patience_ns"`
	// From and Until bound the measured time.
	From  time.Duration `json:"from_ns"`
	Until time.Duration `json:"until_ns"`
}

// Samples are the results of a Schedule.
type Samples struct {
	// Operations has an element for each operation, in the order of the schedule.
	Operations []Sample `json:"operations"`
	// Served and Rejected are the replies to the operations' commands in the measured time.
	Served   int `json:"served"`
	Rejected int `json:"rejected"`
}

// Sample is the result of an operation. Its times count from the start of the load.
type Sample struct {
	Began    time.Duration `json:"began_ns"`
	Ended    time.Duration `json:"ended_ns"`
	Outcome  string        `json:"outcome"` // "succeeded", "failed" or "given up"
	Commands int32         `json:"commands"`
}

// Schedule returns all operations of the plan. Programs in other languages cannot drain tokens.
func (p Plan) Schedule() (*Schedule, error) {
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	s := &Schedule{URI: p.URI, Database: p.Database, Clients: p.Clients, Patience: p.Patience, From: p.Warmup, Until: p.Warmup + p.Duration}
	for _, op := range p.schedule() {
		s.Due, s.Client = append(s.Due, op.due), append(s.Client, op.client)
	}
	return s, nil
}

// Report summarizes the samples of the plan's schedule.
func (p Plan) Report(s *Samples) (*Report, error) {
	schedule := p.schedule()
	if len(schedule) != len(s.Operations) {
		return nil, fmt.Errorf("there are samples of %d operations, of %d that were due", len(s.Operations), len(schedule))
	}
	outcomes := map[string]outcome{"succeeded": succeeded, "failed": failed, "given up": givenUp}
	r := &run{plan: p, operations: make([]operation, len(schedule))}
	for i, sample := range s.Operations {
		known, ok := outcomes[sample.Outcome]
		if !ok {
			return nil, fmt.Errorf("operation %d has the unknown outcome %q", i, sample.Outcome)
		}
		op := &r.operations[i]
		op.start, op.began, op.ended, op.outcome = schedule[i], sample.Began, sample.Ended, known
		op.commands.Store(sample.Commands)
	}
	r.served.Store(int64(s.Served))
	r.rejected.Store(int64(s.Rejected))
	return r.report(), nil
}
