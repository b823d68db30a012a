package topology

import (
	"context"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

func ping(ctx context.Context, d driver.Deployment) error {
	return driver.Operation{CommandFn: scripted.Named("ping"), Database: "admin", Deployment: d}.Execute(ctx)
}

// TestChecksLeaveNoGoroutine is about what waits for the server's end beside a check: it ends with the check.
func TestChecksLeaveNoGoroutine(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close()) // so that connections are refused
	server := NewServer(address.Address(listener.Addr().String()), bson.NewObjectID(), time.Minute)
	for i := 0; i < 3; i++ {
		_, err := server.check(context.Background())
		require.NoError(t, err, "the description has the error")
	}
	stacks := make([]byte, 1<<20)
	for end := time.Now().Add(time.Minute); ; runtime.Gosched() {
		waiting := strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "(*Server).check.func")
		if waiting == 0 {
			return
		}
		require.True(t, time.Now().Before(end), "%d goroutines are left", waiting)
	}
}
