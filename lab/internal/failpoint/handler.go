// Package failpoint gives a front, with any backend, the fail points of the server's test builds: failCommand and
// onPrimaryTransactionalWrite, set with configureFailPoint.
package failpoint

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/answer"
	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

// Config holds the dependencies of fail points.
type Config struct {
	// Random returns numbers from 0 up to 1, for activationProbability. Several goroutines call it.
	Random func() float64
	// Wait returns nil after that time, or the context's error as soon as it ends.
	Wait func(ctx context.Context, d time.Duration) error
	// Router is whether the front is a mongos, which does not label errors as retryable writes.
	Router bool
}

// Handler has the fail points of one front. The next handler does not see the commands that fail.
type Handler struct {
	config      Config
	failCommand point[failCommand]
	onWrite     point[transactionalWrite]
	done        executed
}

// New returns a handler with all fail points off.
func New(config Config) (*Handler, error) {
	if config.Random == nil || config.Wait == nil {
		return nil, errors.New("fail points need a source of randomness and a way to wait")
	}
	return &Handler{config: config}, nil
}

// point is one fail point.
type point[Data any] struct {
	mu    sync.Mutex
	mode  mode
	data  *Data
	count int64 // how often it has been taken
}

// set returns how often the fail point had been taken until then.
func (p *point[Data]) set(m mode, data *Data) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode, p.data = m, data
	return p.count
}

// take returns the data if this chance is taken, otherwise nil. Commands that do not match are no chances.
func (p *point[Data]) take(chances int, matches func(*Data) bool, draw func() float64) *Data {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mode.kind == off || !matches(p.data) {
		return nil
	}
	var taken *Data
	for range chances {
		var hit bool
		if hit, p.mode = p.mode.take(draw); hit {
			p.count++
			taken = p.data
		}
	}
	return taken
}

// Handle implements proxy.Handler.
func (h *Handler) Handle(ctx context.Context, req *proxy.Request, reply proxy.ReplyFunc, next proxy.Next) error {
	if req.Command == "configureFailPoint" {
		if isBackends(req.Document()) {
			return next(ctx, req, reply)
		}
		return h.configure(req, reply)
	}
	matches := func(c *failCommand) bool { return c.matches(req) }
	failing := h.failCommand.take(1, matches, h.config.Random)
	if failing == nil {
		return h.write(ctx, req, reply, next)
	}
	if failing.block > 0 {
		if err := h.config.Wait(ctx, failing.block); err != nil {
			return err
		}
	}
	switch {
	case failing.closeConnection:
		return proxy.ErrClose
	case failing.errorCode != nil:
		return h.fail(req, reply, failing)
	case failing.writeConcernError != nil:
		reply = h.withWriteConcernError(req, reply, failing)
	}
	return h.write(ctx, req, reply, next)
}

// fail replies with the fail point's error.
func (h *Handler) fail(req *proxy.Request, reply proxy.ReplyFunc, failing *failCommand) error {
	failure := answer.Errorf(*failing.errorCode, failMessage)
	failure.Labels = failing.errorLabels
	if failing.errorLabels == nil {
		failure.Labels = answer.Labels(req.Document(), *failing.errorCode, 0, h.config.Router)
	}
	if failing.extraInfo != nil {
		if err := bson.Unmarshal(failing.extraInfo, &failure.Extra); err != nil {
			return err
		}
	}
	return failure.Send(req, reply)
}

// withWriteConcernError adds the fail point's error to the reply. The labels are beside it, not within.
func (h *Handler) withWriteConcernError(req *proxy.Request, reply proxy.ReplyFunc, failing *failCommand) proxy.ReplyFunc {
	command := req.Document()
	return func(m *wire.Message) error {
		code, _ := m.Document().Lookup("code").AsInt64OK()
		writeConcernCode, _ := failing.writeConcernError.Lookup("code").AsInt64OK()
		added := bson.D{{Key: "writeConcernError", Value: failing.writeConcernError}}
		errorLabels := failing.errorLabels
		if errorLabels == nil {
			errorLabels = answer.Labels(command, int32(code), int32(writeConcernCode), h.config.Router)
		}
		if len(errorLabels) > 0 {
			added = append(added, bson.E{Key: "errorLabels", Value: errorLabels})
		}
		doc, err := bsondoc.With(m.Document(), added...)
		if err != nil {
			return err
		}
		m.SetDocument(doc)
		return reply(m)
	}
}

// write passes the request on, unless it is a write that fails before it is committed.
func (h *Handler) write(ctx context.Context, req *proxy.Request, reply proxy.ReplyFunc, next proxy.Next) error {
	chances := statements(req)
	if chances == 0 {
		return next(ctx, req, reply)
	}
	session, number, _ := req.Transaction()
	if h.done.has(session, number) {
		return next(ctx, req, reply)
	}
	failing := h.onWrite.take(chances, func(*transactionalWrite) bool { return true }, h.config.Random)
	if failing != nil && failing.errorCode != nil {
		if failing.closeConnection {
			return proxy.ErrClose
		}
		return failing.beforeCommit(req, h.config.Router).Send(req, reply)
	}
	return next(ctx, req, func(m *wire.Message) error {
		if bsondoc.Succeeded(m.Document()) {
			h.done.add(session, number)
		}
		if failing != nil && failing.closeConnection {
			return proxy.ErrClose
		}
		return reply(m)
	})
}
