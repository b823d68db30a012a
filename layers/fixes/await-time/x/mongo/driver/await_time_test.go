package driver_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/csot"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/drivertest"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
)

// resetServer is a server whose round trips a failed heartbeat erases while a connection is waited for.
type resetServer struct {
	rtt  time.Duration
	conn *drivertest.ChannelConn
}

func (s *resetServer) Connection(context.Context) (*mnet.Connection, error) {
	s.rtt = 0
	return mnet.NewConnection(s.conn), nil
}

func (s *resetServer) RTTMonitor() driver.RTTMonitor { return &shortest{min: s.rtt} }

type shortest struct {
	csot.ZeroRTTMonitor
	min time.Duration
}

func (s *shortest) Min() time.Duration { return s.min }

// The time that the server may wait for documents is what is left without the round trip that was known when the call began.
func TestGetMoreKnowsTheRoundTripOfAResetServer(t *testing.T) {
	conn := &drivertest.ChannelConn{Written: make(chan []byte, 1), ReadErr: make(chan error, 1)}
	conn.ReadErr <- errors.New("no reply")
	var maxTimeMS int64
	await := 5 * time.Hour
	cursor, err := driver.NewBatchCursor(
		driver.CursorResponse{
			Server: &resetServer{rtt: 9 * time.Hour, conn: conn}, FirstBatch: &bsoncore.Iterator{}, ID: 1, Database: "db", Collection: "coll",
		}, nil, nil, driver.CursorOptions{MaxAwaitTime: &await, CommandMonitor: &event.CommandMonitor{
			Started: func(_ context.Context, e *event.CommandStartedEvent) {
				maxTimeMS = e.Command.Lookup("maxTimeMS").Int64()
			},
		}})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Hour)
	defer cancel()
	cursor.Next(ctx) // the first batch, which is empty
	cursor.Next(ctx)
	assert.LessOrEqual(t, maxTimeMS, time.Hour.Milliseconds())
	assert.Greater(t, maxTimeMS, (time.Hour / 2).Milliseconds())
}
