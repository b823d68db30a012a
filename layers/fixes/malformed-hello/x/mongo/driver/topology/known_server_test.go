package topology

import (
	"context"
	"errors"
	"net"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
)

// TestMalformedHelloOfAPool is about a hello that does not describe its server: there is no connection.
func TestMalformedHelloOfAPool(t *testing.T) {
	malformed := errors.New("no wire version")
	client, _ := net.Pipe()
	conn := newConnection("a:27017", WithDialer(func(Dialer) Dialer {
		return DialerFunc(func(context.Context, string, string) (net.Conn, error) { return client, nil })
	}), WithHandshaker(func(Handshaker) Handshaker {
		return &testHandshaker{getHandshakeInformation: func(context.Context, address.Address, *mnet.Connection) (
			driver.HandshakeInformation, error,
		) {
			return driver.HandshakeInformation{Description: description.Server{LastError: malformed}}, nil
		}}
	}))
	conn.pool = newPool(poolConfig{})
	err := conn.connect(context.Background())
	assert.True(t, errors.Is(err, malformed), "got %v", err)
}
