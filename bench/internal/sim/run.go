package sim

import (
	"container/heap"
	"math/rand/v2"
	"time"

	"mongofork/bench/internal/arrival"
	"mongofork/internal/retry"
)

// run is a simulation in progress.
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
		// The next event is an arrival or the first step on the agenda.
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
	return r.tally.result(s, r.clients), nil
}

func newRun(s Scenario) *run {
	r := &run{
		Scenario: s,
		random:   arrival.NewRandom(s.Seed),
		servers:  make([]server, s.Servers),
		tally:    newTally(s),
	}
	clock := func() time.Time { return time.Unix(0, int64(r.now)) }
	for i := range s.Clients {
		r.clients = append(r.clients, newClient(s, i, r.random.Float64, clock))
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
	client := r.clients[r.random.IntN(len(r.clients))]
	r.tally.arrived(now, client)
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
		r.tally.succeeded(op)
	case rejected:
		op.client.replied(op.server, false)
		r.reject(op)
	}
}

// send sends an attempt to a server, unless the client refuses it.
func (r *run) send(op *operation) {
	before := op.server
	op.server = r.choose(op)
	if op.client.throttles != nil && !r.passes(op) {
		op.server = before
		r.refuse(op)
		return
	}
	op.client.sent(op.server)
	r.tally.sent(op.at, op.server)
	replied, admitted := r.servers[op.server].receive(op.at, seconds(r.random.ExpFloat64()/r.Capacity))
	if admitted {
		r.agenda.schedule(op, served, replied)
	} else {
		r.agenda.schedule(op, rejected, replied)
	}
}

// passes reports whether an attempt is sent. If the chosen server refuses it, it goes to one that does not.
func (r *run) passes(op *operation) bool {
	chosen, draw := op.server, r.random.Float64()
	throttles := op.client.throttles
	if !throttles[chosen].Refuses(draw) {
		return true
	}
	for range r.Servers - 1 {
		if op.server = r.choose(op); !throttles[op.server].Refuses(r.random.Float64()) {
			throttles[chosen].Refused()
			return true
		}
	}
	if op.client.rule.Spares(op.command.First(), draw) {
		op.server = chosen
		return true
	}
	throttles[chosen].Refused()
	return false
}

// reject asks the policy what to do about a rejection.
func (r *run) reject(op *operation) { r.failed(op, op.command.Failed(overloaded)) }

// refuse asks the policy what to do about a refusal.
func (r *run) refuse(op *operation) {
	op.refused++
	r.tally.refused(op.at)
	r.failed(op, r.Variant.decide(op.command.Failed(refused), op.retries+1, r.random.Float64))
}

// failed carries out the decision about a failed attempt.
func (r *run) failed(op *operation, verdict retry.Verdict) {
	if !verdict.Retry {
		r.tally.failed(op)
		return
	}
	op.retries++
	r.agenda.schedule(op, send, op.at+verdict.Backoff)
}

// watchTokens checks ten times a second whether the initial tokens have been spent.
func (r *run) watchTokens(now time.Duration) {
	if r.Policy != FullBucket || r.Others != "" || r.tally.drained > 0 || now < r.tally.looked+time.Second/10 {
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
