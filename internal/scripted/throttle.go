package scripted

import (
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
)

// Throttle is what package driver asks a server of a client with adaptiveThrottling.
func (s server) Throttle() (address.Address, *retry.Throttle) {
	throttle := s.Throttles[s.desc.Addr]
	if throttle == nil && s.Policy != nil && s.Policy.Throttling != nil {
		throttle = retry.NewThrottle(*s.Policy.Throttling, s.Policy.Clock.Now)
		if s.Throttles == nil {
			s.Throttles = map[address.Address]*retry.Throttle{}
		}
		s.Throttles[s.desc.Addr] = throttle
	}
	return s.desc.Addr, throttle
}
