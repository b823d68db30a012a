package scripted

import (
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/throttle"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
)

// Script has the throttles of its servers.
//
//fork:extend a test sets them and looks at them
type Script struct {
	// Throttles are the servers' throttles, by address, for a Policy with Throttling. Those that are missing are made by need.
	Throttles map[address.Address]*throttle.Throttle
}

var _ carries = (*Script)(nil)

// carried returns what a server carries: for a Policy with Throttling, its throttle too.
func (s *Script) carried(addr address.Address) backpressure.Carrier {
	known := s.Throttles[addr]
	if known == nil && s.Policy != nil && s.Policy.Throttling != throttle.Nothing {
		known = throttle.New(s.Policy.Clock.Now, s.Policy.Jitter, s.Policy.Throttling)
		if s.Throttles == nil {
			s.Throttles = map[address.Address]*throttle.Throttle{}
		}
		s.Throttles[addr] = known
	}
	return backpressure.CarryForServer(&s.Policy, addr, known)
}

// note notes that a server has rejected something: the policy has to know of the first rejection.
func (s *Script) note(err error) {
	if backpressure.IsRetryableOverload(err) && s.Policy != nil {
		s.Policy.NoteRejection()
	}
}
