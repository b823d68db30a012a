package driver_test

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
)

// TestGetMoreKnowsTheRoundTripOfAResetServer is about the time that a server may wait for documents, whose round trips a failed heartbeat
// erases while a connection is waited for: it is what is left without the round trip that was known when the call began.
func TestGetMoreKnowsTheRoundTripOfAResetServer(t *testing.T) {
	s := scripted.New(t, scripted.OpenedCursor(), scripted.Failure(43))
	cursor := openCursor(t, s, false)
	cursor.SetMaxAwaitTime(5 * time.Hour)
	s.RTT, s.OnConnection = 9*time.Hour, func() { s.RTT = 0 }
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Hour)
	defer cancel()
	cursor.Next(ctx) // the first batch, which is empty
	cursor.Next(ctx)
	maxTimeMS := s.Field("maxTimeMS")[1].(int64)
	assert.LessOrEqual(t, maxTimeMS, time.Hour.Milliseconds())
	assert.Greater(t, maxTimeMS, (time.Hour / 2).Milliseconds())
}
