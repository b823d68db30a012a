// Package failpoint gives a front, with any backend, the fail points of the server's test builds that the specifications' tests
// use: failCommand and onPrimaryTransactionalWrite, set with configureFailPoint.
package failpoint

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/answer"
	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

const (
	failCommand = "failCommand"
	onWrite     = "onPrimaryTransactionalWrite"

	failMessage = "Failing command via 'failCommand' failpoint"
)

// Handler has the fail points of one front. The next handler does not see the commands that fail.
type Handler struct {
	router  bool
	command point
	write   point
}

// New returns a handler with all fail points off. A router does not label errors as retryable writes.
func New(router bool) *Handler { return &Handler{router: router} }

// Handle implements proxy.Handler.
func (h *Handler) Handle(ctx context.Context, req *proxy.Request, reply proxy.ReplyFunc, next proxy.Next) error {
	if req.Command == "configureFailPoint" && req.Database == "admin" {
		return h.configure(ctx, req, reply, next)
	}
	failing := h.command.take(1, func(d *data) bool { return d.matches(req) })
	if failing == nil {
		return h.transactional(ctx, req, reply, next)
	}
	if failing.BlockConnection {
		if err := clock.Wait(ctx, time.Duration(failing.BlockTimeMS)*time.Millisecond); err != nil {
			return err
		}
	}
	switch {
	case failing.CloseConnection:
		return proxy.ErrClose
	case failing.ErrorCode != nil:
		failure := answer.Errorf(*failing.ErrorCode, failMessage)
		failure.Labels = h.labels(req, failing, *failing.ErrorCode, 0)
		return failure.Send(req, reply)
	case failing.WriteConcernError != nil:
		reply = h.withWriteConcernError(req, reply, failing)
	}
	return h.transactional(ctx, req, reply, next)
}

// configure answers configureFailPoint. A fail point that the lab does not have is the backend's, and holds for all fronts.
func (h *Handler) configure(ctx context.Context, req *proxy.Request, reply proxy.ReplyFunc, next proxy.Next) error {
	name, _ := req.Document().Lookup("configureFailPoint").StringValueOK()
	p := map[string]*point{failCommand: &h.command, onWrite: &h.write}[name]
	if p == nil {
		return next(ctx, req, reply)
	}
	d, err := parseData(name, req.Document().Lookup("data"))
	var count int64
	if err == nil {
		count, err = p.configure(req.Document().Lookup("mode"), d)
	}
	if failure := new(answer.Error); errors.As(err, &failure) {
		return failure.Send(req, reply)
	}
	return answer.OK(req, reply, bson.E{Key: "count", Value: count})
}

// labels returns the labels of the fail point's error.
func (h *Handler) labels(req *proxy.Request, failing *data, code, writeConcernCode int32) []string {
	if failing.ErrorLabels != nil {
		return *failing.ErrorLabels
	}
	return answer.Labels(req.Document(), code, writeConcernCode, h.router)
}

// withWriteConcernError adds the fail point's error to the reply. The labels are beside it, not within.
func (h *Handler) withWriteConcernError(req *proxy.Request, reply proxy.ReplyFunc, failing *data) proxy.ReplyFunc {
	return func(m *wire.Message) error {
		code, _ := bsondoc.Int64(m.Body.Lookup("code"))
		writeConcernCode, _ := bsondoc.Int64(failing.WriteConcernError.Lookup("code"))
		added := []bson.E{{Key: "writeConcernError", Value: failing.WriteConcernError}}
		if labels := h.labels(req, failing, int32(code), int32(writeConcernCode)); len(labels) > 0 {
			added = append(added, bson.E{Key: "errorLabels", Value: labels})
		}
		var err error
		if m.Body, err = bsondoc.With(m.Body, added...); err != nil {
			return err
		}
		return reply(m)
	}
}

// transactional passes the request on. If the fail point takes a retryable write, or a transaction's commit, it either fails
// before it is committed, or its reply is lost; the connection is closed in both cases.
func (h *Handler) transactional(ctx context.Context, req *proxy.Request, reply proxy.ReplyFunc, next proxy.Next) error {
	session, number, _ := req.Transaction()
	chances := statements(req)
	if chances == 0 || h.write.has(session, number) {
		return next(ctx, req, reply)
	}
	failing := h.write.take(chances, func(*data) bool { return true })
	if failing != nil && failing.FailBeforeCommitExceptionCode != nil {
		return proxy.ErrClose
	}
	return next(ctx, req, func(m *wire.Message) error {
		if bsondoc.Succeeded(m.Body) {
			h.write.remember(session, number)
		}
		if failing != nil {
			return proxy.ErrClose
		}
		return reply(m)
	})
}

// statements returns the number of writes that the request commits under a transaction number.
func statements(req *proxy.Request) int {
	doc := req.Document()
	switch {
	case !bsondoc.Has(doc, "txnNumber"):
		return 0
	case req.Command == "commitTransaction":
		return 1
	case bsondoc.Has(doc, "autocommit"):
		return 0 // these are committed later, all at once
	}
	switch canonical(req.Command) {
	case "findAndModify":
		return 1
	case "insert":
		return length(req, "documents")
	case "update":
		return length(req, "updates")
	case "delete":
		return length(req, "deletes")
	case "bulkWrite":
		return length(req, "ops")
	default:
		return 0
	}
}

// length returns the number of documents in a field, which may be sent as an array or beside the body.
func length(req *proxy.Request, field string) int {
	for _, sequence := range req.Message.Sequences {
		if sequence.Identifier == field {
			return len(sequence.Documents)
		}
	}
	array, _ := req.Document().Lookup(field).ArrayOK()
	values, _ := array.Values()
	return len(values)
}
