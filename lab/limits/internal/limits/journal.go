package limits

import (
	"context"
	"errors"
	"math"
	"sync"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// journal records what a client does. It is safe for concurrent use.
type journal struct {
	mu sync.Mutex
	account
}

// account summarizes what a client did.
type account struct {
	// commands counts the commands of each operation. Operations are identified by their comments.
	commands map[string]int
	// failures is how many attempts failed, retries how many of them were followed by another, and most the highest number
	// of an attempt.
	failures, retries, most int
	// unlabelled is a failure without the labels of a retryable overload error; nil when all have them.
	unlabelled error
	// tokens is the least that was left; infinite when the client has none.
	tokens float64
	// ready, broken and cleared count connections and pools, and lost the times a server was not known any more.
	ready, broken, cleared, lost int
}

// newJournal returns the journal of a client that is to be made of these options.
func newJournal(opts *options.ClientOptions) *journal {
	j := &journal{account: account{commands: make(map[string]int), tokens: math.Inf(1)}}
	opts.SetMonitor(&event.CommandMonitor{Started: j.command})
	opts.SetPoolMonitor(&event.PoolMonitor{Event: j.pool})
	opts.SetServerMonitor(&event.ServerMonitor{ServerDescriptionChanged: j.server})
	opts.SetRetryMonitor(&event.RetryMonitor{Decided: j.decision})
	return j
}

// read returns what the client did so far.
func (j *journal) read() account {
	j.mu.Lock()
	defer j.mu.Unlock()
	copied := j.account
	copied.commands = make(map[string]int, len(j.commands))
	for comment, n := range j.commands {
		copied.commands[comment] = n
	}
	return copied
}

func (j *journal) command(_ context.Context, e *event.CommandStartedEvent) {
	comment, ok := e.Command.Lookup("comment").StringValueOK()
	if !ok {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.commands[comment]++
}

func (j *journal) pool(e *event.PoolEvent) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case e.Type == event.ConnectionReady:
		j.ready++
	case e.Type == event.ConnectionPoolCleared:
		j.cleared++
	case e.Type == event.ConnectionClosed && e.Reason == event.ReasonError:
		j.broken++
	}
}

func (j *journal) server(e *event.ServerDescriptionChangedEvent) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if e.NewDescription.Kind == "Unknown" && e.PreviousDescription.Kind != "Unknown" {
		j.lost++
	}
}

func (j *journal) decision(_ context.Context, e *event.RetryDecidedEvent) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.failures++
	j.most = max(j.most, e.Attempt)
	if e.WillRetry {
		j.retries++
		j.most = max(j.most, e.Attempt+1)
	}
	if j.unlabelled == nil && !isRetryableOverload(e.Failure) {
		j.unlabelled = e.Failure
	}
	if e.Tokens != nil {
		j.tokens = min(j.tokens, *e.Tokens)
	}
}

// isRetryableOverload tells whether an error has both labels.
func isRetryableOverload(err error) bool {
	var labeled mongo.LabeledError
	return errors.As(err, &labeled) && labeled.HasErrorLabel("SystemOverloadedError") && labeled.HasErrorLabel("RetryableError")
}
