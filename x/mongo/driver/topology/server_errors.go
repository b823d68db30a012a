package topology

import (
	"errors"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
)

// Server processes errors one at a time, counts what it rejects, and paces its checks. The last three are nil without
// adaptiveThrottling: no specification has them.
//
//fork:extend errors of one cause clear the pool once; with adaptiveThrottling, what one operation learns about an overload helps others
type Server struct {
	clearing sync.Mutex // whether an error's connection is stale is asked and answered with it held

	rejections *retry.Rejections
	throttle   *retry.Throttle
	pace       *heartbeatPace
}

// An overload error leaves the server and its pool unchanged (server-discovery-and-monitoring.md, "Error handling pseudocode").
//
//fork:wrap an overloaded server is not unknown, and its connections are usable
func (s *Server) ProcessHandshakeError(err error, startingGenerationNumber uint64, serviceID *bson.ObjectID) {
	var failed ConnectionError
	if errors.As(err, &failed) && failed.processing != nil {
		defer failed.processing.end()
	}
	if backpressure.IsRetryableOverload(err) {
		s.rejected()
	}
	if !backpressure.HasOwnLabel(err, driver.ErrSystemOverloadedError) {
		s.clearing.Lock()
		defer s.clearing.Unlock()
		s.upstreamProcessHandshakeError(err, startingGenerationNumber, serviceID)
	}
}

// With adaptiveThrottling it also records whether the server rejected the command.
//
//fork:wrap every command passes here; of errors with one cause, the later ones cleared the pool that a retry of the first was using
func (s *Server) ProcessError(err error, describer mnet.Describer) driver.ProcessErrorResult {
	if err == nil {
		return driver.NoChange
	}
	if backpressure.IsRetryableOverload(err) {
		s.rejected()
	}
	s.clearing.Lock()
	defer s.clearing.Unlock()
	return s.upstreamProcessError(err, describer)
}
