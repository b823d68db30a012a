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
//fork:extend what one operation learns about an overload helps others choose a server
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

// ProcessError records overload errors.
//
//fork:wrap every command error passes here
func (s *Server) ProcessError(err error, describer mnet.Describer) driver.ProcessErrorResult {
	if isOverload(err) {
		s.rejected()
	}
	return s.upstreamProcessError(err, describer)
}

// ProcessHandshakeError records overload errors. After one, it leaves the server and its pool unchanged
// (server-discovery-and-monitoring.md, "Error handling pseudocode").
//
//fork:wrap an overloaded server is not unknown, and its connections are usable
func (s *Server) ProcessHandshakeError(err error, startingGenerationNumber uint64, serviceID *bson.ObjectID) {
	if isOverload(err) {
		s.rejected()
		return
	}
	s.upstreamProcessHandshakeError(err, startingGenerationNumber, serviceID)
}

// rejected records an overload error.
func (s *Server) rejected() {
	s.rejections.Add()
	if seen := s.cfg.overloadSeen; seen != nil && !seen.Load() {
		seen.Store(true)
	}
}

// isOverload reports whether the error has the label SystemOverloadedError. Of errors that wrap another, only those of
// establishing a connection count: the server can have rejected any handshake command, while the error of a reply that could not
// be decrypted may concern the server of the key vault.
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
