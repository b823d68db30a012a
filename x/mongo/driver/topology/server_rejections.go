package topology

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
)

// Server counts its overload errors of late. The count is nil without an overload policy.
//
//fork:extend what one operation learns of an overload helps others to choose a server
type Server struct {
	rejections *retry.Rejections
}

// NewServer returns a server that counts its overload errors by the clock of the client's overload policy.
//
//fork:wrap the count belongs to the server
func NewServer(addr address.Address, topologyID bson.ObjectID, connectTimeout time.Duration, opts ...ServerOption) *Server {
	s := upstreamNewServer(addr, topologyID, connectTimeout, opts...)
	if s.cfg.overload != nil {
		s.rejections = retry.NewRejections(s.cfg.overload.Clock.Now)
	}
	return s
}

// OperationCount returns the number of operations in progress on this server, by which one of two servers is selected, and
// adds the overload errors of the last moments. A server that rejects is done with operations sooner than one that executes
// them; by the operations in progress alone it would be preferred.
//
//fork:wrap of two servers the one that is overloaded must not look like the idle one
//fork:watch Topology.SelectServer
func (s *Server) OperationCount() int64 {
	return s.upstreamOperationCount() + s.rejections.Count()
}

// ProcessError takes note of overload errors.
//
//fork:wrap every error of a command comes this way
func (s *Server) ProcessError(err error, describer mnet.Describer) driver.ProcessErrorResult {
	if isOverload(err) {
		s.rejections.Add()
	}
	return s.upstreamProcessError(err, describer)
}

// ProcessHandshakeError takes note of overload errors. It leaves the server and its pool as they are after one
// (server-discovery-and-monitoring.md, "Error handling pseudocode").
//
//fork:wrap an overloaded server is neither unknown nor are its connections unusable
func (s *Server) ProcessHandshakeError(err error, startingGenerationNumber uint64, serviceID *bson.ObjectID) {
	if isOverload(err) {
		s.rejections.Add()
		return
	}
	s.upstreamProcessHandshakeError(err, startingGenerationNumber, serviceID)
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
