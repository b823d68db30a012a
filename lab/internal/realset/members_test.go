package realset

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

// names are those of fronts by what two members are called, and by where they listen.
var names = map[string]string{"real:1": "front:1", "10.0.0.1:1": "front:1", "real:2": "front:2", "10.0.0.2:27017": "front:2"}

func marshal(t *testing.T, doc bson.D) bson.Raw {
	t.Helper()
	raw, err := bson.Marshal(doc)
	require.NoError(t, err)
	return raw
}

func TestRename(t *testing.T) {
	doc := marshal(t, bson.D{
		{Key: "hosts", Value: bson.A{"real:1", "real:2", "real:3"}}, {Key: "me", Value: "real:2"}, {Key: "ok", Value: 1.0},
		{Key: "data", Value: bson.Binary{Data: []byte("real:1")}},
	})
	want := marshal(t, bson.D{
		{Key: "hosts", Value: bson.A{"front:1", "front:2", "real:3"}}, {Key: "me", Value: "front:2"}, {Key: "ok", Value: 1.0},
		{Key: "data", Value: bson.Binary{Data: []byte("real:1")}},
	})
	got, err := rename(doc, names)
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

// frontOf returns what makes a front the first of two members.
func frontOf() proxy.Handler { return &front{names: names} }

// request returns a command with these flags.
func request(t *testing.T, flags wire.MsgFlags, doc bson.D) *proxy.Request {
	t.Helper()
	req, err := proxy.NewRequest(&proxy.Client{}, &wire.Message{
		Flags: flags, Body: marshal(t, append(doc, bson.E{Key: "$db", Value: "admin"})),
	})
	require.NoError(t, err)
	return req
}

// handle passes a request to a member that answers with these replies, one after the other. It returns what the member was asked
// and what the client got.
func handle(t *testing.T, h proxy.Handler, req *proxy.Request, replies ...bson.D) (asked []*proxy.Request, got []*wire.Message) {
	t.Helper()
	err := h.Handle(t.Context(), req,
		func(m *wire.Message) error {
			got = append(got, m)
			return nil
		},
		func(_ context.Context, req *proxy.Request, reply proxy.ReplyFunc) error {
			asked = append(asked, req)
			if len(asked) > len(replies) {
				return proxy.ErrClose
			}
			return reply(req.Answer(marshal(t, replies[len(asked)-1])))
		})
	if len(asked) <= len(replies) {
		require.NoError(t, err)
	}
	return asked, got
}

// version is a topologyVersion.
func version(counter int64) bson.E {
	return bson.E{Key: versionField, Value: bson.D{{Key: "processId", Value: bson.ObjectID{1}}, {Key: "counter", Value: counter}}}
}

func counterOf(doc bson.Raw) int64 {
	counter, _ := doc.Lookup(versionField, "counter").Int64OK()
	return counter
}

func TestHello(t *testing.T) {
	for _, command := range []string{"hello", "isMaster", "ismaster"} {
		asked, got := handle(t, frontOf(), request(t, 0, bson.D{{Key: command, Value: 1}}),
			bson.D{{Key: "me", Value: "real:1"}, {Key: "primary", Value: "10.0.0.2:27017"}, version(7),
				{Key: "ok", Value: 1.0}})
		require.Len(t, got, 1)
		assert.Len(t, asked, 1)
		assert.Equal(t, "front:1", got[0].Body.Lookup("me").StringValue(), command)
		assert.Equal(t, "front:2", got[0].Body.Lookup("primary").StringValue(), "a member by its other address")
		assert.False(t, got[0].HasFlag(wire.MoreToCome))
	}
}

func TestErrorsOfNoPrimaryTellTheVersion(t *testing.T) {
	notPrimary := bson.D{{Key: "ok", Value: 0.0}, {Key: "code", Value: 10107}}
	h := frontOf()
	find := bson.D{{Key: "find", Value: "c"}}
	_, got := handle(t, h, request(t, 0, find), notPrimary)
	assert.Empty(t, got[0].Body.Lookup(versionField), "nothing is known yet")

	handle(t, h, request(t, 0, bson.D{{Key: "hello", Value: 1}}), bson.D{version(3), {Key: "ok", Value: 1.0}})
	for name, test := range map[string]struct {
		reply bson.D
		want  int64
	}{
		"not primary":   {notPrimary, 3},
		"its own":       {append(bson.D{version(9)}, notPrimary...), 9},
		"another error": {bson.D{{Key: "ok", Value: 0.0}, {Key: "code", Value: 462}}, 0},
		"shutting down": {bson.D{{Key: "ok", Value: 0.0}, {Key: "code", Value: 91}}, 0},
		"no error":      {bson.D{{Key: "ok", Value: 1.0}}, 0},
		"of a writeConcern": {bson.D{{Key: "ok", Value: 1.0}, {Key: "writeConcernError", Value: bson.D{{Key: "code", Value: 189}}}},
			3},
	} {
		_, got := handle(t, h, request(t, 0, find), test.reply)
		assert.Equal(t, test.want, counterOf(got[0].Body), name)
	}
}
