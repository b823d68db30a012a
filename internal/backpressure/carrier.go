package backpressure

// Carrier is what a Deployment or Server embeds whose commands are subject to the overload retry policy of the Client Backpressure
// specification. Under an unexported name it adds nothing to what they export. The deployments that monitor servers, establish
// connections and authenticate embed none, as the specification exempts their commands.
type Carrier struct {
	policy **Policy
}

// Carry returns a carrier of the client's policy, which may be set later, before the first command.
func Carry(policy **Policy) Carrier { return Carrier{policy: policy} }

func (c Carrier) carrier() Carrier { return c }

// CarrierOf returns what a deployment or server embeds.
func CarrierOf(deployment any) Carrier {
	if embeds, ok := deployment.(interface{ carrier() Carrier }); ok {
		return embeds.carrier()
	}
	return Carrier{} // whose commands are exempt
}

// PolicyOf returns the policy of a deployment or server, or nil if it has none.
func PolicyOf(deployment any) *Policy {
	if c := CarrierOf(deployment); c.policy != nil {
		return *c.policy
	}
	return nil
}
