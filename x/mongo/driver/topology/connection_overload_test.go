package topology

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/eventtest"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
)

// establish connects a connection of a pool to a server on loopback that does with each connection what serve does. The
// handshaker's hello sends a byte and waits for one.
func establish(t *testing.T, pooled *pool, serve func(net.Conn), opts ...ConnectionOption) error {
	t.Helper()
	addr := bootstrapConnections(t, 1, func(nc net.Conn) {
		defer nc.Close()
		serve(nc)
	})
	handshaker := &testHandshaker{
		getHandshakeInformation: func(
			ctx context.Context, addr address.Address, conn *mnet.Connection,
		) (driver.HandshakeInformation, error) {
			if err := conn.Write(ctx, []byte{0}); err != nil {
				return driver.HandshakeInformation{}, driver.Error{Labels: []string{driver.NetworkError}, Wrapped: err}
			}
			if _, err := conn.Read(ctx); err != nil {
				return driver.HandshakeInformation{}, driver.Error{Labels: []string{driver.NetworkError}, Wrapped: err}
			}
			return driver.HandshakeInformation{Description: description.Server{Addr: addr}}, nil
		},
		finishHandshake: func(ctx context.Context, conn *mnet.Connection) error {
			_, err := conn.Read(ctx)
			return err
		},
	}
	opts = append(opts, WithHandshaker(func(Handshaker) Handshaker { return handshaker }))
	conn := newConnection(address.Address(addr.String()), opts...)
	conn.pool = pooled

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return conn.connect(ctx)
}

// message is a reply of no content.
var message = []byte{16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

func withTLS(cfg *tls.Config) ConnectionOption {
	return WithTLSConfig(func(*tls.Config) *tls.Config { return cfg })
}

// TestServerOverloadDuringEstablishment is about what becomes of the server and its pool.
func TestServerOverloadDuringEstablishment(t *testing.T) {
	errs := map[string]error{
		"reset":   &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNRESET},
		"timeout": &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded},
	}
	for name, dialErr := range errs {
		t.Run(name, func(t *testing.T) { keepsPool(t, false, dialErr) })
		t.Run(name+" behind a load balancer", func(t *testing.T) { keepsPool(t, true, dialErr) })
	}
}

func keepsPool(t *testing.T, loadBalanced bool, dialErr error) {
	events := eventtest.NewTestPoolMonitor()
	dialer := DialerFunc(func(context.Context, string, string) (net.Conn, error) { return nil, dialErr })
	server := NewServer(address.Address("localhost:27017"), bson.NewObjectID(), defaultConnectionTimeout,
		withMonitoringDisabled(func(bool) bool { return true }),
		WithServerLoadBalanced(func(bool) bool { return loadBalanced }),
		WithConnectionPoolMonitor(func(*event.PoolMonitor) *event.PoolMonitor { return events.PoolMonitor }),
		WithConnectionOptions(func(...ConnectionOption) []ConnectionOption {
			return []ConnectionOption{WithDialer(func(Dialer) Dialer { return dialer })}
		}),
	)
	require.NoError(t, server.Connect(nil))
	if !loadBalanced {
		// A load balancer is known from the start.
		server.updateDescription(description.Server{Addr: server.address, Kind: description.ServerKindRSPrimary})
		require.NoError(t, server.pool.ready())
	}
	known := server.Description()

	const attempts = 3
	for i := 0; i < attempts; i++ {
		_, err := server.Connection(context.Background())
		var labeled ConnectionError
		require.True(t, errors.As(err, &labeled) && labeled.HasErrorLabel(driver.ErrSystemOverloadedError), "got %v", err)
		assert.Equal(t, server.address, labeled.ServerAddress())
	}
	// Disconnecting waits for the pool's background work, and so for the handling of the errors.
	after := server.Description()
	require.NoError(t, server.Disconnect(context.Background()))

	assert.Equal(t, known.Kind, after.Kind)
	assert.Empty(t, events.Events(func(e *event.PoolEvent) bool { return e.Type == event.ConnectionPoolCleared }))
	failed := events.Events(func(e *event.PoolEvent) bool { return e.Type == event.ConnectionCheckOutFailed })
	assert.Len(t, failed, attempts)
	assert.Equal(t, int64(0), server.OperationCount())
}

// labeler is what package driver asks of such errors.
type labeler interface {
	error
	ForWrite() error
}

// TestRetryableWriteLabel is about errors of a check-out that get the label: they stay of their type, with the same text.
func TestRetryableWriteLabel(t *testing.T) {
	for _, err := range []labeler{ConnectionError{Wrapped: io.EOF}, poolClearedError{err: io.EOF, address: "a"}} {
		labeled := err.ForWrite()
		assert.IsType(t, err, labeled)
		assert.Equal(t, err.Error(), labeled.Error())
		for _, label := range []string{driver.RetryableWriteError, driver.TransientTransactionError} {
			assert.False(t, err.(interface{ HasErrorLabel(string) bool }).HasErrorLabel(label))
			assert.Equal(
				t,
				label == driver.RetryableWriteError,
				labeled.(interface{ HasErrorLabel(string) bool }).HasErrorLabel(label),
			)
		}
	}
}

var errRejected = driver.Error{
	Code: 462, Name: "IngressRequestRateLimitExceeded", Labels: []string{driver.ErrSystemOverloadedError, driver.ErrRetryableError},
}
