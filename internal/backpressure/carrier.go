package backpressure

import (
	"go.mongodb.org/mongo-driver/v2/internal/throttle"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
)

// Carrier is what a Deployment or Server embeds whose commands are subject to the overload retry policy of the Client Backpressure
// specification. Under an unexported name it adds nothing to what they export. The deployments that monitor servers, establish
// connections and authenticate embed none, as the specification exempts their commands.
type Carrier struct {
	policy   **Policy
	server   address.Address
	throttle *throttle.Throttle
}

// Carry returns a carrier of the client's policy, which may be set later, before the first command.
func Carry(policy **Policy) Carrier { return Carrier{policy: policy} }

// CarryForServer returns a carrier of the client's policy, and of what decides which attempts to hold back from the server, or nil.
func CarryForServer(policy **Policy, server address.Address, throttle *throttle.Throttle) Carrier {
	return Carrier{policy: policy, server: server, throttle: throttle}
}

func (c Carrier) carrier() Carrier { return c }

// carrierOf returns what a deployment or server embeds.
func carrierOf(deployment any) Carrier {
	if h, ok := deployment.(interface{ carrier() Carrier }); ok {
		return h.carrier()
	}
	return Carrier{}
}

// PolicyOf returns the policy of a deployment or server, or nil if it has none.
func PolicyOf(deployment any) *Policy {
	if h := carrierOf(deployment); h.policy != nil {
		return *h.policy
	}
	return nil
}

// ThrottleOf returns the address of a server, and what decides which attempts to hold back from it. They are empty and nil if it has
// none.
func ThrottleOf(server any) (address.Address, *throttle.Throttle) {
	h := carrierOf(server)
	return h.server, h.throttle
}
