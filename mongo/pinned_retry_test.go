package mongo

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// newLoadBalancedScript returns a script for a service behind a load balancer.
func newLoadBalancedScript(t *testing.T, replies ...any) *scripted.Script {
	s := scripted.New(t, replies...)
	service := bson.NewObjectID()
	server := scripted.Server("lb", description.ServerKindLoadBalancer)
	server.ServiceID = &service
	s.Topology = description.TopologyKindLoadBalanced
	s.Servers = []description.Server{server}
	return s
}

func connections(s *scripted.Script) []int {
	var numbers []int
	for _, sent := range s.Sent {
		numbers = append(numbers, sent.Connection)
	}
	return numbers
}

func TestLoadBalancedCursorStaysPinned(t *testing.T) {
	s := newLoadBalancedScript(t,
		scripted.Overloaded(), scripted.OK(firstBatch(7, bson.D{})),
		scripted.Overloaded(), scripted.Overloaded(), scripted.OK(nextBatch(0, bson.D{})))
	client := connectScript(t, s)

	cursor, err := client.Database("db").Collection("coll").Find(context.Background(), bson.D{})
	require.NoError(t, err)
	var docs []bson.D
	require.NoError(t, cursor.All(context.Background(), &docs))
	s.Finish()

	assert.Len(t, docs, 2)
	assert.Equal(t, []int{1, 2, 2, 2, 2}, connections(s), "find is retried on another connection, getMore is not")
}

// TestLoadBalancedCursorIsGivenUp is about a cursor whose getMore is rejected to the end, and one that loses its connection.
func TestLoadBalancedTransactionStaysPinned(t *testing.T) {
	transient := scripted.Failure(462, driver.ErrSystemOverloadedError, driver.ErrRetryableError, driver.TransientTransactionError)
	s := newLoadBalancedScript(t,
		scripted.Overloaded(), scripted.OK(), // insert, with startTransaction
		transient, scripted.OK(), // insert
		scripted.Overloaded(), scripted.OK()) // commit
	require.NoError(t, withTransaction(t, s, insertTwice))
	assert.Equal(t, []int{1, 2, 2, 2, 2, 2}, connections(s),
		"the command that starts it is retried on another connection, the others are not")
	assert.Equal(t, []any{true, true, nil, nil, nil, nil}, s.Field("startTransaction"))
	assert.Equal(t, []any{int64(1), int64(1), int64(1), int64(1), int64(1), int64(1)}, s.Field("txnNumber"))
}
