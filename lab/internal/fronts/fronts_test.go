package fronts

import (
	"context"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

func collection(c *mongo.Client) *mongo.Collection { return c.Database("db").Collection("c") }

// use writes and reads.
func use(t testing.TB, c *mongo.Client) {
	t.Helper()
	_, err := collection(c).InsertOne(t.Context(), bson.D{{Key: "x", Value: 1}})
	require.NoError(t, err)
	require.NoError(t, collection(c).FindOne(t.Context(), bson.D{}).Err())
}

func TestClientsSeeTheTopology(t *testing.T) {
	for text, want := range map[string][]string{
		"standalone":     {"Standalone"},
		"sharded:2":      {"Mongos", "Mongos"},
		"loadbalanced:2": {"LoadBalancer"},
	} {
		t.Run(text, func(t *testing.T) {
			l := startLab(t, text, Config{})
			client, j := connect(t, l.URIs()[0])
			use(t, client)
			expected := map[string]string{}
			for i, kind := range want {
				expected[l.Hosts()[i]] = kind
			}
			assert.Eventually(t, func() bool { return assert.ObjectsAreEqual(expected, j.kinds()) }, patience, time.Millisecond,
				"want %v", expected)
		})
	}
}

func TestFailPointsBelongToAFront(t *testing.T) {
	l := startLab(t, "sharded:2", Config{})
	hosts := l.Hosts()
	first, j := connect(t, "mongodb://"+hosts[0])
	second, other := connect(t, "mongodb://"+hosts[1])
	require.NoError(t, first.Database("admin").RunCommand(t.Context(), bson.D{
		{Key: "configureFailPoint", Value: "failCommand"}, {Key: "mode", Value: bson.D{{Key: "times", Value: 1}}},
		{Key: "data", Value: bson.D{
			{Key: "failCommands", Value: bson.A{"insert"}}, {Key: "errorCode", Value: 89},
			{Key: "errorLabels", Value: bson.A{"RetryableWriteError"}},
		}},
	}).Err())
	use(t, second)
	use(t, first)
	assert.Len(t, j.named("insert"), 2, "an attempt that failed, and its retry")
	assert.Len(t, other.named("insert"), 1)
}

// disturb lets a client disturb the lab by its second front.
func disturb(t testing.TB, l *Lab, doc ...bson.E) error {
	t.Helper()
	client, _ := connect(t, "mongodb://"+l.Hosts()[1])
	return client.Database("admin").RunCommand(t.Context(), bson.D(doc)).Err()
}

func TestSilence(t *testing.T) {
	l := startLab(t, "sharded:2", Config{})
	client, _ := connect(t, "mongodb://"+l.Hosts()[0])
	use(t, client)
	require.NoError(t, disturb(t, l, bson.E{Key: "labFault", Value: "silent"}))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	assert.ErrorIs(t, collection(client).FindOne(ctx, bson.D{}).Err(), context.DeadlineExceeded)

	answered := make(chan error, 1)
	go func() { answered <- collection(client).FindOne(t.Context(), bson.D{}).Err() }()
	select {
	case err := <-answered:
		assert.Fail(t, "it is not silent", "%v", err)
	case <-time.After(100 * time.Millisecond):
	}
	require.NoError(t, disturb(t, l, bson.E{Key: "labFault", Value: "off"}))
	assert.NoError(t, <-answered, "what waited is answered")
}

func TestDisturb(t *testing.T) {
	l := startLab(t, "sharded:2", Config{})
	old, err := net.Dial("tcp", l.Hosts()[0])
	require.NoError(t, err)
	defer old.Close()
	client, _ := connect(t, "mongodb://"+l.Hosts()[0])
	use(t, client)
	require.NoError(t, disturb(t, l, bson.E{Key: "labFault", Value: "reset"}, bson.E{Key: "member", Value: 0}))
	require.NoError(t, old.SetReadDeadline(time.Now().Add(patience)))
	_, err = old.Read(make([]byte, 1))
	assert.ErrorIs(t, err, syscall.ECONNRESET)
	assert.Eventually(t, func() bool { return collection(client).FindOne(t.Context(), bson.D{}).Err() == nil }, patience,
		time.Millisecond)

	assert.ErrorContains(t, disturb(t, l, bson.E{Key: "labFault", Value: "silent"}, bson.E{Key: "member", Value: 2}),
		"there is no member 2; they are numbered from 0 to 1")
	assert.ErrorContains(t, disturb(t, l, bson.E{Key: "labFault", Value: "kill"}), `"stepDown"] with real members`)
	assert.ErrorContains(t, l.Disturb(t.Context(), Silent, -1), "there is no member -1")
}
