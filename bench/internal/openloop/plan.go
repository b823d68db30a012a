// Package openloop puts an open-loop load on servers: operations start when they are due, regardless of earlier ones, and their
// latency counts from then. It uses only features of every compared driver.
package openloop

import (
	"errors"
	"fmt"
	"time"

	"mongofork/bench/internal/arrival"
)

// Plan is the plan of a run.
type Plan struct {
	URI string `json:"uri"`
	// Database has a collection "documents", which has a document whose _id is 1.
	Database string `json:"database"`
	// Clients share the load at random.
	Clients int `json:"clients"`
	// Capacity is the number of operations per second that the servers can serve together; the load is a multiple of it.
	Capacity float64      `json:"capacity"`
	Load     arrival.Load `json:"load"`
	// Warmup precedes Duration and Cooldown follows it, under the same load; only Duration is measured.
	Warmup   time.Duration `json:"warmup_ns"`
	Duration time.Duration `json:"duration_ns"`
	Cooldown time.Duration `json:"cooldown_ns"`
	// Patience is the time after the last arrival at which unfinished operations are abandoned.
	Patience time.Duration `json:"patience_ns"`
	// Interval is the length of the parts of Duration in a series.
	Interval time.Duration `json:"interval_ns"`
	Seed     uint64        `json:"seed"`
	// Drain makes the clients spend their buckets' tokens before the load begins. The server needs the fail point failCommand for
	// that.
	Drain bool `json:"drain"`
}

// check reports everything that is wrong with the plan.
func (p Plan) check() error {
	errs := []error{p.Load.Check()}
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(p.Database != "", "there is no database")
	check(p.Clients > 0, "clients is %d, must be at least 1", p.Clients)
	check(p.Capacity > 0, "capacity is %v operations a second, must be positive", p.Capacity)
	check(p.Duration > 0 && p.Warmup >= 0 && p.Cooldown >= 0 && p.Patience >= 0,
		"duration is %v after %v and before %v and %v, must be positive", p.Duration, p.Warmup, p.Cooldown, p.Patience)
	check(p.Interval > 0, "interval is %v, must be positive", p.Interval)
	return errors.Join(errs...)
}

// start is an operation before it has begun.
type start struct {
	due    time.Duration // from the start of the load
	client int
}

// schedule returns all operations in the order of their times. It depends only on the plan.
func (p Plan) schedule() []start {
	// The number of clients must not affect the times of arrival.
	random, choice := arrival.NewRandom(p.Seed), arrival.NewRandom(p.Seed)
	end := p.Warmup + p.Duration + p.Cooldown
	var all []start
	for due := p.Load.Next(random, 0, p.Capacity); due < end; due = p.Load.Next(random, due, p.Capacity) {
		all = append(all, start{due: due, client: choice.IntN(p.Clients)})
	}
	return all
}
