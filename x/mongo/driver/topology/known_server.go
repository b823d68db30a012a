package topology

import (
	"context"
	"fmt"

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
		err = fmt.Errorf("malformed hello: %w", info.Description.LastError)
	}
	return info, err
}
