package proxy

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/wire"
)

// users returns how many commands have a session's turn or wait for it.
func (s *Sessions) users(session string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.turns[session]; t != nil {
		return t.users
	}
	return 0
}

// slowServer tells of each request, and echoes it when it is told to.
type slowServer struct {
	arrived chan string
	release chan struct{}
}

func (s *slowServer) answer(request *wire.Message) []*wire.Message {
	s.arrived <- request.Document().Lookup("update").StringValue()
	<-s.release
	return echo(request)
}

func update(t *testing.T, name, session string, number int64) *wire.Message {
	return command(t, 1, bson.E{Key: "update", Value: name},
		bson.E{Key: "lsid", Value: bson.D{{Key: "id", Value: session}}}, bson.E{Key: "txnNumber", Value: number})
}

func TestSessionsTakeTurns(t *testing.T) {
	sessions := &Sessions{}
	server := &slowServer{arrived: make(chan string, 3), release: make(chan struct{})}
	front := startFront(t, Config{Sessions: sessions}, answering(server.answer))
	first := update(t, "attempt", "a", 1)
	request, err := NewRequest(&Client{}, first)
	require.NoError(t, err)
	session, number, ok := request.Transaction()
	require.True(t, ok)
	require.EqualValues(t, 1, number)

	lost, retrying, other := front.dial(t), front.dial(t), front.dial(t)
	lost.send(t, first)
	require.Equal(t, "attempt", <-server.arrived)
	retrying.send(t, update(t, "retry", "a", 1))
	require.Eventually(t, func() bool { return sessions.users(session) == 2 }, patience, time.Millisecond)
	require.NoError(t, lost.Close())
	other.send(t, update(t, "other session", "b", 1))
	require.Equal(t, "other session", <-server.arrived, "a session waits for no other one")
	assert.Empty(t, server.arrived, "the retry waits for the attempt, whose client is gone")

	server.release <- struct{}{}
	server.release <- struct{}{}
	require.Equal(t, "retry", <-server.arrived)
	server.release <- struct{}{}
	retrying.receive(t)
	other.receive(t)
	require.Eventually(t, func() bool { return sessions.users(session) == 0 }, patience, time.Millisecond)
	assert.Empty(t, sessions.turns)
}

func TestSessionsWaitNoLongerThanTheContext(t *testing.T) {
	sessions := &Sessions{}
	checkIn, err := sessions.checkOut(context.Background(), "a")
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(ErrReset)
	_, err = sessions.checkOut(ctx, "a")
	require.ErrorIs(t, err, ErrReset)
	checkIn()
	assert.Empty(t, sessions.turns)
}
