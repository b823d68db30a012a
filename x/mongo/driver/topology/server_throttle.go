package topology

import (
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// newThrottle returns the throttle of a client's server, or nil without adaptiveThrottling.
func newThrottle(overload *driver.OverloadPolicy) *retry.Throttle {
	if overload.Policy.Throttling == nil {
		return nil
	}
	return retry.NewThrottle(*overload.Policy.Throttling, overload.Clock.Now)
}

// Throttle returns the server's address, and what decides which attempts to hold back from it, or nil.
func (s *Server) Throttle() (address.Address, *retry.Throttle) { return s.address, s.throttle }

// ThrottleProbabilities returns for each known server the probability, in [0, 1), with which commands are held back from it, or
// nil without adaptiveThrottling.
func (t *Topology) ThrottleProbabilities() map[string]float64 {
	if t.cfg.overload == nil || t.cfg.overload.Policy.Throttling == nil {
		return nil
	}
	t.serversLock.Lock()
	defer t.serversLock.Unlock()

	probabilities := make(map[string]float64, len(t.servers))
	for addr, server := range t.servers {
		probabilities[addr.String()] = server.throttle.State().Probability
	}
	return probabilities
}
