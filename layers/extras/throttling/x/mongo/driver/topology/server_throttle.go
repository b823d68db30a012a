package topology

import (
	"math"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/throttle"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
)

// Server counts what it rejects: for the choice of servers with adaptiveThrottling, and for its throttle unless the option is false.
//
//fork:extend what one operation learns about an overload helps others
type Server struct {
	rejections *recentRejections
	throttle   *throttle.Throttle
}

// scopeOf returns what a client with that option may withhold: without it, retries.
func scopeOf(adaptiveThrottling *bool) throttle.Scope {
	switch {
	case adaptiveThrottling == nil:
		return throttle.Retries
	case *adaptiveThrottling:
		return throttle.All
	default:
		return throttle.Nothing
	}
}

// The policy of the client knows what adaptiveThrottling withholds.
//
//fork:wrap both the client and NewConfig use it
func NewAuthenticatorConfig(authenticator driver.Authenticator, clientOpts ...AuthConfigOption) (*Config, error) {
	cfg, retErr := upstreamNewAuthenticatorConfig(authenticator, clientOpts...)
	if retErr == nil {
		cfg.overload.Throttling = scopeOf(optionsOf(clientOpts).AdaptiveThrottling)
	}
	return cfg, retErr
}

// NewServer makes the server count what it rejects.
//
//fork:wrap what one operation learns about an overload helps others
func NewServer(addr address.Address, topologyID bson.ObjectID, connectTimeout time.Duration, opts ...ServerOption) *Server {
	retS := upstreamNewServer(addr, topologyID, connectTimeout, opts...)
	retS.countRejections()
	return retS
}

// It also records whether the server refused the connection.
//
//fork:wrap commands that need another connection are withheld like any other
func (s *Server) ProcessHandshakeError(err error, startingGenerationNumber uint64, serviceID *bson.ObjectID) {
	if backpressure.IsRetryableOverload(err) {
		s.rejected() // first, because refused asks how many there are
		s.refused()
	}
	s.upstreamProcessHandshakeError(err, startingGenerationNumber, serviceID)
}

// withholdsAll reports whether the client has adaptiveThrottling.
func (t *Topology) withholdsAll() bool {
	return t.cfg.overload != nil && t.cfg.overload.Throttling == throttle.All
}

// countRejections makes a server count what it rejects, by the clock of the client's overload policy, unless nothing is withheld.
func (s *Server) countRejections() {
	if overload := s.cfg.overload; overload != nil && overload.Throttling != throttle.Nothing { // nil without a client
		if overload.Throttling == throttle.All {
			s.rejections = &recentRejections{now: overload.Clock.Now}
		}
		s.throttle = throttle.New(overload.Clock.Now, overload.Jitter, overload.Throttling)
		s.policyCarrier = backpressure.CarryForServer(&s.cfg.overload, s.address, s.throttle)
	}
}

// It also records whether the server rejected the command.
//
//fork:wrap every command passes here
func (s *Server) ProcessError(err error, describer mnet.Describer) driver.ProcessErrorResult {
	if backpressure.IsRetryableOverload(err) {
		s.rejected()
	}
	return s.upstreamProcessError(err, describer)
}

// rejected records a rejection.
func (s *Server) rejected() {
	if s.throttle != nil { // see countRejections
		s.rejections.add()
		s.cfg.overload.NoteRejection()
	}
}

// herd is how many recent rejections it takes until connections that are refused count at the throttle. A command alone, which opens one
// after the other between its backoffs, meets fewer: withheld, it would fail without having tried.
const herd = 10

// refused records that a connection was refused. Commands that need another one are then withheld like any other. Where only retries are
// withheld, each counts.
func (s *Server) refused() {
	if s.throttle != nil && (s.rejections == nil || s.rejections.count() > herd) {
		s.throttle.Refused()
	}
}

// ThrottleProbabilities returns for each known server the probability, in [0, 1), with which reads or writes are withheld from it,
// whichever is higher, or nil without adaptiveThrottling.
func (t *Topology) ThrottleProbabilities() map[string]float64 {
	if !t.withholdsAll() {
		return nil
	}
	t.serversLock.Lock()
	defer t.serversLock.Unlock()

	probabilities := make(map[string]float64, len(t.servers))
	for addr, server := range t.servers {
		reads, _ := server.throttle.State(false)
		writes, _ := server.throttle.State(true)
		probabilities[addr.String()] = math.Max(reads, writes)
	}
	return probabilities
}

// selectServerFromDescription draws two of several suitable servers and returns the one with less load, if the client has
// adaptiveThrottling and a server has rejected anything.
//
//fork:wrap with adaptiveThrottling, of two servers the one that is overloaded must not look like the idle one
func (t *Topology) selectServerFromDescription(desc description.Topology, wanted description.ServerSelector) ([]description.Server, error) {
	retSuitable, retErr := t.upstreamSelectServerFromDescription(desc, wanted)
	if retErr == nil && len(retSuitable) > 1 && t.withholdsAll() && t.cfg.overload.Rejected() {
		retSuitable = t.lessLoaded(retSuitable)
	}
	return retSuitable, retErr
}

// lessLoaded draws two of the servers at random, like SelectServer, and returns the one with fewer operations in progress and
// recent overload errors.
func (t *Topology) lessLoaded(suitable []description.Server) []description.Server {
	one, other := pick2(suitable)
	t.serversLock.Lock()
	oneServer, otherServer := t.servers[one.Addr], t.servers[other.Addr]
	t.serversLock.Unlock()

	switch {
	case oneServer == nil || otherServer == nil:
		return []description.Server{one, other} // one was removed meanwhile: SelectServer finds out
	case oneServer.load() < otherServer.load():
		return []description.Server{one}
	default:
		return []description.Server{other}
	}
}

// load returns the load by which a server is chosen: its operations in progress plus its recent overload errors. Rejecting is
// quicker than executing, so by operations in progress alone a server that rejects would be preferred.
func (s *Server) load() int64 { return s.OperationCount() + s.rejections.count() }
