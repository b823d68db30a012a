package sim

import (
	"container/heap"
	"time"

	"mongofork/internal/retry"
)

// step is the next step of an operation.
type step uint8

const (
	send step = iota
	served
	rejected
)

// operation is one call of the application. It waits for one event at a time, and so is that event, too.
type operation struct {
	at   time.Duration // of the next step
	next step

	arrived time.Duration
	client  *client
	command retry.Execution
	retries int
	refused int // attempts that were not sent
	server  int // that the last attempt was sent to, or noServer
}

const noServer = -1

// agenda is the operations in the order of their next steps.
type agenda []*operation

func (a agenda) Len() int           { return len(a) }
func (a agenda) Less(i, j int) bool { return a[i].at < a[j].at }
func (a agenda) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }

// Push is for container/heap.
func (a *agenda) Push(x any) { *a = append(*a, x.(*operation)) }

// Pop is for container/heap.
func (a *agenda) Pop() any {
	last := len(*a) - 1
	op := (*a)[last]
	(*a)[last] = nil
	*a = (*a)[:last]
	return op
}

// schedule sets the next step of an operation.
func (a *agenda) schedule(op *operation, next step, at time.Duration) {
	op.next, op.at = next, at
	heap.Push(a, op)
}
