package topology

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// slowly returns a known server whose connections are dialled so, and counts how often it becomes unknown. Whoever is told of that takes
// a while.
func slowly(t *testing.T, dial DialerFunc) (*Server, *atomic.Int64) {
	t.Helper()
	var unknown atomic.Int64
	server := NewServer("a:27017", bson.NewObjectID(), defaultConnectionTimeout,
		withMonitoringDisabled(func(bool) bool { return true }),
		WithConnectionOptions(func(...ConnectionOption) []ConnectionOption {
			return []ConnectionOption{WithDialer(func(Dialer) Dialer { return dial })}
		}),
	)
	require.NoError(t, server.Connect(func(desc description.Server) description.Server {
		if desc.Kind == description.Unknown {
			unknown.Add(1)
			for i := 0; i < 10_000; i++ {
				runtime.Gosched()
			}
		}
		return desc
	}))
	t.Cleanup(func() { require.NoError(t, server.Disconnect(context.Background())) })
	server.updateDescription(description.Server{Addr: server.address, Kind: description.ServerKindRSPrimary})
	return server, &unknown
}

// inParallel runs a function in two goroutines.
func inParallel(run func()) {
	var running sync.WaitGroup
	for i := 0; i < 2; i++ {
		running.Add(1)
		go func() {
			defer running.Done()
			run()
		}()
	}
	running.Wait()
}

// TestFailureIsProcessedBeforeItIsReturned is about a connection that cannot be established: a retry must not meet the clearing of the
// pool for the same failure. Of two failures at the same time, the second must not clear what the retry of the first uses.
func TestFailureIsProcessedBeforeItIsReturned(t *testing.T) {
	var dialled sync.WaitGroup
	dialled.Add(2)
	server, unknown := slowly(t, func(context.Context, string, string) (net.Conn, error) {
		dialled.Done()
		dialled.Wait()
		return nil, &net.DNSError{IsNotFound: true}
	})
	inParallel(func() {
		_, err := server.Connection(context.Background())
		var failed ConnectionError
		if errors.As(err, &failed) { // or it waited when the pool was cleared
			assert.Equal(t, server.address, failed.ServerAddress())
		}
		assert.Equal(t, poolPaused, server.pool.getState())
		assert.Equal(t, description.Server{}.Kind, server.Description().Kind)
	})
	assert.Equal(t, int64(1), unknown.Load())
}

// TestFailureIsReturnedInTime is about a caller whose time is up while the failure of its connection is being processed.
func TestFailureIsReturnedInTime(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	server, _ := slowly(t, func(context.Context, string, string) (net.Conn, error) { return nil, &net.DNSError{IsNotFound: true} })
	returned := make(chan struct{})
	server.updateTopologyCallback.Store(updateTopologyCallback(func(desc description.Server) description.Server {
		cancel()
		<-returned
		return desc
	}))
	_, err := server.Connection(ctx)
	close(returned)
	require.Error(t, err)
}

// TestErrorsOfOneCauseClearOnce is about two commands whose connections break at the same time.
func TestErrorsOfOneCauseClearOnce(t *testing.T) {
	server, unknown := slowly(t, func(context.Context, string, string) (net.Conn, error) {
		client, other := net.Pipe()
		t.Cleanup(func() { _ = other.Close() })
		return client, nil
	})
	var inUse sync.WaitGroup
	inUse.Add(2)
	inParallel(func() {
		conn, err := server.Connection(context.Background())
		assert.NoError(t, err)
		inUse.Done()
		inUse.Wait()
		defer func() { _ = conn.Close() }()
		server.ProcessError(ConnectionError{Wrapped: io.EOF}, conn)
	})
	assert.Equal(t, int64(1), unknown.Load())
}

// TestFailureIsProcessedTwice is about an error that an application hands to the server once more.
func TestFailureIsProcessedTwice(t *testing.T) {
	server, _ := slowly(t, func(context.Context, string, string) (net.Conn, error) { return nil, &net.DNSError{IsNotFound: true} })
	_, err := server.Connection(context.Background())
	require.Error(t, err)
	server.ProcessHandshakeError(err, 0, nil)
}
