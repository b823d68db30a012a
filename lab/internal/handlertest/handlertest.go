// Package handlertest passes requests through handlers, for their tests.
package handlertest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

// Request returns a command to a database, in Extended JSON, from an application that is called "app".
func Request(t testing.TB, database, command string) *proxy.Request {
	t.Helper()
	var doc bson.D
	require.NoError(t, bson.UnmarshalExtJSON([]byte(command), false, &doc))
	raw, err := bson.Marshal(append(doc, bson.E{Key: "$db", Value: database}))
	require.NoError(t, err)
	return proxy.NewRequest(&proxy.Client{AppName: "app"}, &wire.Message{Body: raw})
}

// Handle passes a request through a handler, before a backend that answers with that document. It returns what the backend got, and in
// Extended JSON what the client did; neither may be.
func Handle(t testing.TB, h proxy.Handler, req *proxy.Request, backend any) (passed *proxy.Request, reply string, err error) {
	t.Helper()
	answer, marshalErr := bson.Marshal(backend)
	require.NoError(t, marshalErr)
	err = h(t.Context(), req, func(m *wire.Message) error {
		text, err := bson.MarshalExtJSON(m.Body, false, false)
		reply = string(text)
		return err
	}, func(_ context.Context, req *proxy.Request, reply proxy.ReplyFunc) error {
		passed = req
		return reply(req.Answer(answer))
	})
	return passed, reply, err
}
