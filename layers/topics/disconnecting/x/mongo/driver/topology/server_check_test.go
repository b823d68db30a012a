package topology

import (
	"context"
	"net"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
)

// deafListener never hears of StopListening, as one that is told before it listens.
type deafListener struct{}

func (deafListener) Listen(ctx context.Context, _ func()) { <-ctx.Done() }
func (deafListener) StopListening() bool                  { return false }

// TestDisconnectEndsACheck is about the signal that ends a check in progress: Disconnect does not depend on it.
func TestDisconnectEndsACheck(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	server := NewServer(address.Address(silent.Addr().String()), bson.NewObjectID(), time.Hour)
	server.heartbeatListener = deafListener{}
	require.NoError(t, server.Connect(nil))
	conn, err := silent.Accept() // the check is in progress, and gets no reply
	require.NoError(t, err)
	defer conn.Close()
	done := make(chan error, 1)
	go func() { done <- server.Disconnect(context.Background()) }()
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-time.After(20 * time.Second):
		t.Fatal("Disconnect waits for the check")
	}
}
