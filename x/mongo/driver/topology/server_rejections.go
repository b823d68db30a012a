package topology

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
)

// Server counts its overload errors of late. The count and the pace are nil without an overload policy, and the throttle without
// adaptiveThrottling.
//
//fork:extend what one operation learns of an overload helps others to choose a server
type Server struct {
	rejections *retry.Rejections
	throttle   *retry.Throttle
	pace       *heartbeatPace
}

// NewServer returns a server that counts its overload errors, and paces its checks, by the clock of the client's overload policy.
//
//fork:wrap the count belongs to the server
func NewServer(addr address.Address, topologyID bson.ObjectID, connectTimeout time.Duration, opts ...ServerOption) *Server {
	s := upstreamNewServer(addr, topologyID, connectTimeout, opts...)
	if s.cfg.overload != nil {
		s.rejections = retry.NewRejections(s.cfg.overload.Clock.Now)
		s.throttle = newThrottle(s.cfg.overload)
		s.pace = &heartbeatPace{overload: s.cfg.overload, longest: s.cfg.heartbeatInterval}
		s.rttMonitor.cfg.pace = s.pace
	}
	return s
}

// ProcessError takes note of overload errors.
//
//fork:wrap every error of a command comes this way
func (s *Server) ProcessError(err error, describer mnet.Describer) driver.ProcessErrorResult {
	if isOverload(err) {
		s.rejected()
	}
	return s.upstreamProcessError(err, describer)
}

// ProcessHandshakeError takes note of overload errors. It leaves the server and its pool as they are after one
// (server-discovery-and-monitoring.md, "Error handling pseudocode").
//
//fork:wrap an overloaded server is neither unknown nor are its connections unusable
func (s *Server) ProcessHandshakeError(err error, startingGenerationNumber uint64, serviceID *bson.ObjectID) {
	if isOverload(err) {
		s.rejected()
		return
	}
	s.upstreamProcessHandshakeError(err, startingGenerationNumber, serviceID)
}

// rejected takes note of an overload error.
func (s *Server) rejected() {
	s.rejections.Add()
	if seen := s.cfg.overloadSeen; seen != nil && !seen.Load() {
		seen.Store(true)
	}
}

// isOverload reports whether the error has the label SystemOverloadedError. Of the errors that wrap another, only those of
// establishing a connection count: there the server can have rejected any command of the handshake, while the error of a reply
// that could not be decrypted may be about the server of the key vault.
func isOverload(err error) bool {
	switch e := err.(type) {
	case driver.Error:
		return e.HasErrorLabel(driver.ErrSystemOverloadedError)
	case driver.WriteCommandError:
		return e.HasErrorLabel(driver.ErrSystemOverloadedError)
	case ConnectionError:
		return e.HasErrorLabel(driver.ErrSystemOverloadedError)
	default:
		return false
	}
}
