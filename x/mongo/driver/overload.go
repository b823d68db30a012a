package driver

import "go.mongodb.org/mongo-driver/v2/internal/backpressure"

// OverloadPolicy implements the backpressure.PolicyHolder interface. It returns the policy of the server.
func (ssd SingleServerDeployment) OverloadPolicy() *backpressure.Policy {
	return backpressure.PolicyOf(ssd.Server)
}

// OverloadPolicy implements the backpressure.PolicyHolder interface. It returns the policy of the server that the cursor was
// opened on.
func (lbcd *loadBalancedCursorDeployment) OverloadPolicy() *backpressure.Policy {
	return backpressure.PolicyOf(lbcd.errorProcessor)
}
