// Package handlertest passes requests through handlers, for their tests.
package handlertest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/proxy"
)

// Request returns a command to a database, in Extended JSON, from an application that is called "app".
func Request(t testing.TB, database, command string) *proxy.Request {
	t.Helper()
	var doc bson.D
	require.NoError(t, bson.UnmarshalExtJSON([]byte(command), false, &doc))
	raw, err := bson.Marshal(append(doc, bson.E{Key: "$db", Value: database}))
	require.NoError(t, err)
	return proxy.NewRequest(&proxy.Client{AppName: "app"}, &proxy.Message{Body: raw})
}

// Handle passes a request through a handler, before a backend that answers with that document. It returns what the backend got, and in
// Extended JSON what the client did; neither may be.
func Handle(t testing.TB, h proxy.Handler, req *proxy.Request, backend any) (passed *proxy.Request, reply string, err error) {
	t.Helper()
	got, err := h(t.Context(), req, func(_ context.Context, req *proxy.Request) (bson.Raw, error) {
		passed = req
		return bsondoc.Marshal(backend), nil
	})
	if got != nil {
		text, err := bson.MarshalExtJSON(got, false, false)
		require.NoError(t, err)
		reply = string(text)
	}
	return passed, reply, err
}
