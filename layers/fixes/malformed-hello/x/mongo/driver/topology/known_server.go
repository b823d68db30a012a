package topology

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
)

// knownServer is the handshaker of a pool's connection. A hello that does not describe its server fails: commands rely on what a
// description without an error has, such as a wire version. (A monitor learns of that error by the description.)
type knownServer struct{ Handshaker }

// GetHandshakeInformation implements the Handshaker interface.
func (k knownServer) GetHandshakeInformation(
	ctx context.Context, addr address.Address, conn *mnet.Connection,
) (driver.HandshakeInformation, error) {
	info, err := k.Handshaker.GetHandshakeInformation(ctx, addr, conn)
	if err == nil && info.Description.LastError != nil {
		err = malformedHelloError{info.Description.LastError}
	}
	return info, err
}

// malformedHelloError is the error of a hello that does not describe its server. The server has answered: no overload causes it.
type malformedHelloError struct{ wrapped error }

func (e malformedHelloError) Error() string { return "malformed hello: " + e.wrapped.Error() }

func (e malformedHelloError) Unwrap() error { return e.wrapped }

func (malformedHelloError) serverAnswered() {} // for cannotBeOverload

// connect fails if the hello of a pool's connection does not describe its server.
//
//fork:wrap the connection was used
func (c *connection) connect(ctx context.Context) error {
	if c.pool != nil && c.config != nil && c.config.handshaker != nil { // a monitor's has no pool
		c.config.handshaker = knownServer{c.config.handshaker}
	}
	return c.upstreamConnect(ctx)
}
