package members

import (
	"context"
	"strings"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"mongofork/lab/internal/answer"
	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/topology"
	"mongofork/lab/internal/wire"
)

const versionField = "topologyVersion"

// member is the member behind one front.
type member struct {
	set     *Set
	version atomic.Pointer[bson.RawValue] // what the member last said of the version of its state
}

// Handle implements proxy.Handler.
func (m *member) Handle(ctx context.Context, req *proxy.Request, reply proxy.ReplyFunc, next proxy.Next) error {
	switch {
	case topology.IsHello(req.Command):
		return m.hello(ctx, req, reply, next)
	case req.Command == "replSetReconfig" || req.Command == "replSetInitiate":
		return answer.Errorf(answer.CodeIllegalOperation,
			"%s: the lab stands before the members that there were at its start; reconfigure the set itself, and start the lab again",
			req.Command).Send(req, reply)
	case strings.HasPrefix(req.Command, "replSet") || req.Command == "serverStatus":
		return next(ctx, req, func(got *wire.Message) error {
			m.rename(got)
			return reply(got)
		})
	default:
		return next(ctx, req, func(got *wire.Message) error {
			m.tellVersion(got)
			return reply(got)
		})
	}
}

// hello has the member answer, which also waits for changes if asked to. A stream of replies becomes a series of requests, so
// that each may fail at the front.
func (m *member) hello(ctx context.Context, req *proxy.Request, reply proxy.ReplyFunc, next proxy.Next) error {
	stream := req.Message.HasFlag(wire.ExhaustAllowed)
	single := req
	if stream {
		single = withoutExhaust(req)
	}
	for more := true; more; {
		more = false
		err := next(ctx, single, func(got *wire.Message) error {
			m.rename(got)
			doc := got.Document()
			version, err := doc.LookupErr(versionField)
			if err == nil {
				m.version.Store(&version)
			}
			if msg, ok := got.Content.(*wire.Msg); ok && stream && err == nil && bsondoc.Succeeded(doc) {
				msg.Flags |= wire.MoreToCome
				single, more = withVersion(single, version), true
			}
			return reply(got)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// rename replaces the members' addresses with the fronts'.
func (m *member) rename(got *wire.Message) {
	if doc := got.Document(); doc != nil {
		got.SetDocument(rename(doc, m.set.names))
	}
}

// tellVersion adds the member's topologyVersion to the fail point's error, as the member does with such errors: clients use it to
// see whether the error is news.
func (m *member) tellVersion(got *wire.Message) {
	version, doc := m.version.Load(), got.Document()
	if version == nil || doc == nil || bsondoc.Has(doc, versionField) || !topology.TellsOfNoPrimary(doc) {
		return
	}
	got.SetDocument(bsondoc.Rebuild(doc, nil, appendVersion(*version)))
}

func appendVersion(version bson.RawValue) func([]byte) []byte {
	return func(dst []byte) []byte { return bsoncore.AppendDocumentElement(dst, versionField, version.Value) }
}

func withoutExhaust(req *proxy.Request) *proxy.Request {
	single, message := *req, *req.Message
	content := *message.Content.(*wire.Msg)
	content.Flags &^= wire.ExhaustAllowed
	message.Content = &content
	single.Message = &message
	return &single
}

func withVersion(req *proxy.Request, version bson.RawValue) *proxy.Request {
	next, message := *req, *req.Message
	content := *message.Content.(*wire.Msg)
	content.Body = bsondoc.Rebuild(content.Body, []string{versionField}, appendVersion(version))
	message.Content = &content
	next.Message = &message
	return &next
}
