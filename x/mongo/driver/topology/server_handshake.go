package topology

import (
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// An overload error leaves the server and its pool unchanged (server-discovery-and-monitoring.md, "Error handling pseudocode"). So does a
// limit of the client itself.
//
//fork:wrap an overloaded server is not unknown, and its connections are usable
func (s *Server) ProcessHandshakeError(err error, startingGenerationNumber uint64, serviceID *bson.ObjectID) {
	if backpressure.HasOwnLabel(err, driver.ErrSystemOverloadedError) || errors.Is(err, backpressure.ErrOwnLimit) {
		return
	}
	s.upstreamProcessHandshakeError(err, startingGenerationNumber, serviceID)
}
