// Package failpoint gives a front, with any backend, the fail point failCommand of the server's test builds, set with
// configureFailPoint.
package failpoint

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/servererror"
	"mongofork/lab/internal/wire"
)

const (
	failCommand = "failCommand"
	failMessage = "Failing command via 'failCommand' failpoint"
)

// Handler has the fail point of one front. The next handler does not see the commands that fail.
type Handler struct {
	router bool
	point  point
}

// New returns a handler with the fail point off. A router does not label errors as retryable writes.
func New(router bool) *Handler { return &Handler{router: router} }

// Handle implements proxy.Handler.
func (h *Handler) Handle(ctx context.Context, req *proxy.Request, reply proxy.ReplyFunc, next proxy.Next) error {
	if req.Command == "configureFailPoint" && req.Database == "admin" {
		return h.configure(ctx, req, reply, next)
	}
	failing := h.point.take(req)
	if failing == nil {
		return next(ctx, req, reply)
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
		failure := servererror.Errorf(*failing.ErrorCode, failMessage)
		failure.Labels = h.labels(req, failing, *failing.ErrorCode, 0)
		return failure.Send(req, reply)
	case failing.WriteConcernError != nil:
		reply = h.withWriteConcernError(req, reply, failing)
	}
	return next(ctx, req, reply)
}

// configure answers configureFailPoint. A fail point that the lab does not have is the backend's, and holds for all fronts.
func (h *Handler) configure(ctx context.Context, req *proxy.Request, reply proxy.ReplyFunc, next proxy.Next) error {
	if name, _ := req.Document().Lookup("configureFailPoint").StringValueOK(); name != failCommand {
		return next(ctx, req, reply)
	}
	d, err := parseData(req.Document().Lookup("data"))
	var count int64
	if err == nil {
		count, err = h.point.configure(req.Document().Lookup("mode"), d)
	}
	if failure := new(servererror.Error); errors.As(err, &failure) {
		return failure.Send(req, reply)
	}
	return servererror.OK(req, reply, bson.E{Key: "count", Value: count})
}

// labels returns the labels of the fail point's error.
func (h *Handler) labels(req *proxy.Request, failing *data, code, writeConcernCode int32) []string {
	if failing.ErrorLabels != nil {
		return *failing.ErrorLabels
	}
	return servererror.Labels(req.Document(), code, writeConcernCode, h.router)
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
