package topology

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

func newCluster(t *testing.T, kind Kind, members int) *Cluster {
	t.Helper()
	spec := Spec{kind, members}
	var hosts []string
	for i := range spec.Fronts() {
		hosts = append(hosts, fmt.Sprintf("h:%d", i))
	}
	c, err := New(spec, hosts)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func document(t testing.TB, doc any) bson.Raw {
	t.Helper()
	raw, err := bson.Marshal(doc)
	require.NoError(t, err)
	return raw
}

func fields(t testing.TB, doc bson.Raw) bson.M {
	t.Helper()
	var m bson.M
	require.NoError(t, bson.Unmarshal(doc, &m))
	return m
}

// backend is what comes after a cluster's handler: it remembers the requests and answers each with the same reply.
type backend struct {
	reply    bson.Raw
	requests []*wire.Message
}

func (b *backend) next(_ context.Context, req *proxy.Request, reply proxy.ReplyFunc) error {
	b.requests = append(b.requests, req.Message)
	return reply(req.Answer(b.reply))
}

// request returns a command as connection id sends it.
func request(t testing.TB, id uint64, command bson.D, flags wire.MsgFlags) *proxy.Request {
	t.Helper()
	message := &wire.Message{Flags: flags, Body: document(t, command)}
	return proxy.NewRequest(&proxy.Client{ID: id}, message)
}

// send returns the reply that a front gives to a command.
func (b *backend) send(t testing.TB, c *Cluster, front int, command ...bson.E) bson.M {
	t.Helper()
	var replies []bson.Raw
	req := request(t, 1, append(command, bson.E{Key: "$db", Value: "admin"}), 0)
	err := c.Handler(front).Handle(context.Background(), req, func(m *wire.Message) error {
		replies = append(replies, m.Body)
		return m.Body.Validate()
	}, b.next)
	require.NoError(t, err)
	require.Len(t, replies, 1)
	return fields(t, replies[0])
}

// expectRefusal checks that a front answers with an error of that code, or that it does not when the code is 0.
func expectRefusal(t testing.TB, c *Cluster, front int, code int32, command ...bson.E) bson.M {
	t.Helper()
	b := &backend{reply: document(t, bson.D{{Key: "ok", Value: 1}})}
	reply := b.send(t, c, front, command...)
	if code == 0 {
		assert.Len(t, b.requests, 1, "%v is passed on", command)
		return reply
	}
	assert.Empty(t, b.requests, "%v is not passed on", command)
	assert.Equal(t, code, reply["code"], "%v", command)
	assert.Zero(t, reply["ok"])
	return reply
}
