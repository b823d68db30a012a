package topology

import (
	"context"
	"net"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/require"
)

// TestConnectionBeforeTheServerIsKnown is about who uses a server without a topology, which would wait for a check.
func TestConnectionBeforeTheServerIsKnown(t *testing.T) {
	dial := DialerFunc(func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	server, err := ConnectServer("a:27017", nil, bson.NewObjectID(), time.Minute,
		WithConnectionOptions(func(...ConnectionOption) []ConnectionOption {
			return []ConnectionOption{WithDialer(func(Dialer) Dialer { return dial })}
		}))
	require.NoError(t, err)
	_, err = server.Connection(context.Background())
	require.ErrorContains(t, err, "connection pool for a:27017 is not ready: no check of the server has succeeded yet")
	require.NoError(t, server.Disconnect(context.Background()))
}
