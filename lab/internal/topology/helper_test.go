package topology

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/handlertest"
	"mongofork/lab/internal/proxy"
)

func newCluster(t *testing.T, kind Kind, members int) *Cluster {
	t.Helper()
	spec := Spec{kind, members}
	var hosts []string
	for i := range spec.Fronts() {
		hosts = append(hosts, fmt.Sprintf("h:%d", i))
	}
	return New(spec, hosts)
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

// backend is what comes after a cluster's handler: it remembers the last request and answers each with the same reply.
type backend struct {
	reply bson.Raw
	asked *proxy.Request
}

// send returns the reply that a front gives to a command.
func (b *backend) send(t testing.TB, c *Cluster, front int, command ...bson.E) bson.M {
	t.Helper()
	text, err := bson.MarshalExtJSON(bson.D(command), true, false)
	require.NoError(t, err)
	req := handlertest.Request(t, "admin", string(text))
	req.Client.ID = 1
	passed, reply, err := handlertest.Handle(t, c.Handler(front), req, b.reply)
	require.NoError(t, err)
	b.asked = passed
	var got bson.M
	require.NoError(t, bson.UnmarshalExtJSON([]byte(reply), false, &got))
	return got
}

// expectRefusal checks that a front answers with an error of that code, or that it does not when the code is 0.
func expectRefusal(t testing.TB, c *Cluster, front int, code int32, command ...bson.E) bson.M {
	t.Helper()
	b := &backend{reply: document(t, bson.D{{Key: "ok", Value: 1}})}
	reply := b.send(t, c, front, command...)
	if code == 0 {
		assert.NotNil(t, b.asked, "%v is passed on", command)
		return reply
	}
	assert.Nil(t, b.asked, "%v is not passed on", command)
	assert.Equal(t, code, reply["code"], "%v", command)
	assert.Zero(t, reply["ok"])
	return reply
}
