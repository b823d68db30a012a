//fork:base >=v2.7.0

package topology

import (
	"errors"
	"io"
	"net"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// TestWrapConnectionError is about what upstream takes for overload as well: a retry cannot help there.
func TestWrapConnectionError(t *testing.T) {
	tests := []struct {
		name    string
		cause   error
		labeled bool
	}{
		{"server refuses hello", driver.Error{Code: 18, Message: "no"}, false},
		{"SOCKS5 proxy refuses", &net.OpError{Op: "socks connect", Err: errors.New("connection refused")}, false},
		{"alert by the client", &net.OpError{Op: "local error", Err: errors.New("tls: unexpected message")}, false},
		{"closed by the server", io.EOF, true},
	}
	for _, tt := range tests {
		tt := tt
		t.Run(tt.name, func(t *testing.T) {
			err := wrapConnectionError(ConnectionError{Wrapped: tt.cause, init: true})
			labeled, ok := err.(driver.Error)
			assert.Equal(t, tt.labeled, ok && labeled.HasErrorLabel(driver.ErrSystemOverloadedError), "got %T (%v)", err, err)
			assert.True(t, errors.Is(err, tt.cause) || errors.As(err, &driver.Error{}), "the cause is kept")
		})
	}
}

// TestOverloadedServerIsNamed is about pooled connections alone: nothing retries what monitors do.
func TestOverloadedServerIsNamed(t *testing.T) {
	address := func(pooled *pool) string {
		err := establish(t, pooled, func(net.Conn) {})
		var named driver.EstablishmentError
		require.True(t, errors.As(err, &named), "got %T (%v)", err, err)
		return string(named.ServerAddress())
	}
	assert.NotEqual(t, "", address(&pool{}))
	assert.Equal(t, "", address(nil))
}
