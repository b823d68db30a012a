// Package answer makes the replies that the lab gives itself, in a server's form.
package answer

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/proxy"
)

// Labels of errors that drivers act upon.
const (
	LabelRetryableWrite       = "RetryableWriteError"
	LabelTransientTransaction = "TransientTransactionError"
	LabelNoWritesPerformed    = "NoWritesPerformed"
	LabelSystemOverloaded     = "SystemOverloadedError"
	LabelRetryable            = "RetryableError"
)

// OK returns the reply of a command that succeeded.
func OK(req *proxy.Request, reply proxy.ReplyFunc, elements ...bson.E) error {
	return send(req, reply, append(elements, bson.E{Key: "ok", Value: 1.0}))
}

// Error is a command that failed.
type Error struct {
	Code    int32
	Message string
	Labels  []string // none leaves the field out, as servers do
	Extra   bson.D   // further fields of the reply
}

// Error implements the error interface.
func (e *Error) Error() string {
	return fmt.Sprintf("%s (%d): %s", CodeName(e.Code), e.Code, e.Message)
}

// Errorf returns an error without labels.
func Errorf(code int32, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Send returns the error as the reply.
func (e *Error) Send(req *proxy.Request, reply proxy.ReplyFunc) error {
	return send(req, reply, e.Document())
}

// Document returns the reply with the error.
func (e *Error) Document() bson.D {
	doc := bson.D{
		{Key: "ok", Value: 0.0},
		{Key: "errmsg", Value: e.Message},
		{Key: "code", Value: e.Code},
		{Key: "codeName", Value: CodeName(e.Code)},
	}
	if len(e.Labels) > 0 {
		doc = append(doc, bson.E{Key: "errorLabels", Value: e.Labels})
	}
	return append(doc, e.Extra...)
}

func send(req *proxy.Request, reply proxy.ReplyFunc, doc bson.D) error {
	raw, err := bson.Marshal(doc)
	if err != nil {
		return fmt.Errorf("the reply to %s: %w", req.Command, err)
	}
	return reply(req.Answer(raw))
}
