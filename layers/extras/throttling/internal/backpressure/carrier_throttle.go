package backpressure

import (
	"go.mongodb.org/mongo-driver/v2/internal/throttle"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
)

// Carrier has what decides which attempts to withhold from a server.
//
//fork:extend what one operation learns about an overload helps others
type Carrier struct {
	server   address.Address
	throttle *throttle.Throttle
}

// CarryForServer returns a carrier of the client's policy, and of what decides which attempts to withhold from the server, or nil.
func CarryForServer(policy **Policy, server address.Address, throttle *throttle.Throttle) Carrier {
	return Carrier{policy: policy, server: server, throttle: throttle}
}

// ThrottleOf returns the address of a server, and what decides which attempts to withhold from it. They are empty and nil if it has
// none.
func ThrottleOf(server any) (address.Address, *throttle.Throttle) {
	c := CarrierOf(server)
	return c.server, c.throttle
}
