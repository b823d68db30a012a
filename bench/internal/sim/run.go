package sim

import (
	"container/heap"
	"math/rand/v2"
	"time"

	"mongofork/bench/internal/arrival"
	"mongofork/internal/retry"
)

// run is a simulation that is under way.
type run struct {
	Scenario
	random  *rand.Rand
	now     time.Duration
	clients []*client
	servers []server
	agenda  agenda
	tally   tally
}

// Run simulates a scenario.
func Run(s Scenario) (Result, error) {
	if err := s.Validate(); err != nil {
		return Result{}, err
	}
	r := newRun(s)
	end := s.Warmup + s.Duration
	capacity := s.Capacity * float64(s.Servers)
	next := s.Load.Next(r.random, 0, capacity)
	for {
		// The next thing to happen is an arrival or the first step on the agenda.
		if len(r.agenda) == 0 || next < r.agenda[0].at {
			if next >= end {
				break
			}
			r.arrive(next)
			next = s.Load.Next(r.random, next, capacity)
			continue
		}
		op := heap.Pop(&r.agenda).(*operation)
		if op.at >= end {
			break
		}
		r.step(op)
	}
	r.watchTokens(end)
	return r.tally.result(s), nil
}

func newRun(s Scenario) *run {
	r := &run{
		Scenario: s,
		random:   arrival.NewRandom(s.Seed),
		servers:  make([]server, s.Servers),
		tally:    newTally(s),
	}
	clock := func() time.Time { return time.Unix(0, int64(r.now)) }
	for range s.Clients {
		r.clients = append(r.clients, newClient(s, r.random.Float64, clock))
	}
	for i := range r.servers {
		r.servers[i] = server{rejection: seconds(s.RejectionCost / s.Capacity), queue: s.Queue}
	}
	if s.Limit > 0 {
		r.servers[0].limiter = newLimiter(s.Limit, s.Warmup+s.LimitedFor)
	}
	return r
}

// arrive begins an operation of a random client.
func (r *run) arrive(now time.Duration) {
	r.now = now
	r.watchTokens(now)
	r.tally.arrived(now)
	client := r.clients[r.random.IntN(len(r.clients))]
	op := &operation{at: now, arrived: now, server: noServer, client: client, command: client.policy.Start(retry.Read, retry.Never)}
	r.send(op)
}

func (r *run) step(op *operation) {
	r.now = op.at
	switch op.next {
	case send:
		r.send(op)
	case served:
		op.client.replied(op.server, true)
		op.command.Succeeded()
		r.tally.succeeded(op.at, op.at-op.arrived, op.retries+1)
	case rejected:
		op.client.replied(op.server, false)
		r.reject(op)
	}
}

// send sends an attempt to a server.
func (r *run) send(op *operation) {
	op.server = r.choose(op)
	op.client.sent(op.server)
	r.tally.sent(op.at, op.server)
	replied, admitted := r.servers[op.server].receive(op.at, seconds(r.random.ExpFloat64()/r.Capacity))
	if admitted {
		r.agenda.schedule(op, served, replied)
	} else {
		r.agenda.schedule(op, rejected, replied)
	}
}

// reject asks the policy what to do about a rejection.
func (r *run) reject(op *operation) {
	verdict := op.command.Failed(overloaded)
	if !verdict.Retry {
		r.tally.failed(op.at, op.retries+1)
		return
	}
	op.retries++
	r.agenda.schedule(op, send, op.at+verdict.Backoff)
}

// watchTokens looks ten times a second whether the tokens that the clients started with have been spent.
func (r *run) watchTokens(now time.Duration) {
	if r.Policy != FullBucket || r.tally.drained > 0 || now < r.tally.looked+time.Second/10 {
		return
	}
	r.tally.looked = now
	var left float64
	for _, client := range r.clients {
		left += client.policy.Bucket.Tokens()
	}
	if full := retry.NewTokenBucket().Tokens() * float64(r.Clients); left < drainedBelow*full {
		r.tally.drained = now
	}
}

// seconds converts to a Duration.
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
