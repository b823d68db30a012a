package topology

import (
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// An overload error leaves the server and its pool unchanged (server-discovery-and-monitoring.md, "Error handling pseudocode").
//
//fork:wrap an overloaded server is not unknown, and its connections are usable
func (s *Server) ProcessHandshakeError(err error, startingGenerationNumber uint64, serviceID *bson.ObjectID) {
	var failed ConnectionError
	if errors.As(err, &failed) && failed.processed != nil {
		defer close(failed.processed)
	}
	if backpressure.IsRetryableOverload(err) {
		s.rejected()
	}
	if !backpressure.HasLabel(err, driver.ErrSystemOverloadedError) {
		s.clearing.Lock()
		defer s.clearing.Unlock()
		s.upstreamProcessHandshakeError(err, startingGenerationNumber, serviceID)
	}
}
