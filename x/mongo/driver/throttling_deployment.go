package driver

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// heldBack is the stage of an attempt that the client did not send, because the server would most likely have rejected it.
const heldBack = unauthenticated + 1

// throttlingDeployment is the deployment of one attempt, which it may hold back.
type throttlingDeployment struct {
	Deployment
	op      Operation
	policy  *backpressure.Policy
	attempt retry.Attempt // its command is known once a throttle has to
}

// SelectServer implements the Deployment interface. It returns the selected server, or another that the attempt is not held back from
// if it is from that one. If there is none, it fails with a heldBackError, unless the attempt is spared.
func (d *throttlingDeployment) SelectServer(ctx context.Context, selector description.ServerSelector) (Server, error) {
	server, err := d.Deployment.SelectServer(ctx, selector)
	if err != nil {
		return nil, err
	}
	addr, throttle := backpressure.ThrottleOf(holder(server))
	if !throttle.Active() {
		return server, nil
	}
	d.attempt.Command = d.op.commandKey(d.attempt.Command)
	attempt, draw := d.attempt, d.policy.Jitter()
	d.attempt.Kept = attempt.Kept && !routed(d.Deployment) // another router may accept it
	if !throttle.HoldsBack(d.attempt, draw) {
		return server, nil
	}
	others := &otherServers{suitable: selector, avoided: []address.Address{addr}}
	if other := d.selectOther(ctx, others); other != nil {
		throttle.HeldBack(attempt)
		return other, nil
	}
	if attempt.Kept || throttle.Admits(attempt, draw) {
		return server, nil
	}
	throttle.HeldBack(attempt)
	return nil, heldBackError{
		addr, throttle.State(), throttle.Lasts(attempt, d.policy.Jitter()), throttle.Spares(attempt, d.policy.MaxRetries),
	}
}

// routed reports whether the deployment's servers stand for others, of which perhaps only one is overloaded. Only retries are held
// back from them.
func routed(d Deployment) bool {
	kind := d.Kind()
	return kind == description.TopologyKindSharded || kind == description.TopologyKindLoadBalanced
}

// selectOther selects an equally suitable server that the attempt is not held back from; it returns nil if there is none. It does not
// relax the read preference and the latency window.
func (d *throttlingDeployment) selectOther(ctx context.Context, others *otherServers) Server {
	for {
		others.found = false // a load-balanced topology has only one server, and does not ask
		server, err := d.Deployment.SelectServer(ctx, others)
		if err != nil || !others.found {
			return nil
		}
		addr, throttle := backpressure.ThrottleOf(holder(server))
		if !throttle.HoldsBack(d.attempt, d.policy.Jitter()) {
			return server
		}
		others.avoided = append(others.avoided, addr)
	}
}

// otherServers selects those suitable servers that the attempt was not held back from. If there is none, it selects all, because the
// deployment would wait for others to appear.
type otherServers struct {
	suitable description.ServerSelector
	avoided  []address.Address
	found    bool // there was another
}

// SelectServer implements the description.ServerSelector interface.
func (o *otherServers) SelectServer(topo description.Topology, candidates []description.Server) ([]description.Server, error) {
	suitable, err := o.suitable.SelectServer(topo, candidates)
	if err != nil {
		return nil, err
	}
	var others []description.Server
	for _, server := range suitable {
		if !o.avoids(server.Addr) {
			others = append(others, server)
		}
	}
	if o.found = len(others) > 0; !o.found {
		return suitable, nil
	}
	return others, nil
}

func (o *otherServers) avoids(addr address.Address) bool {
	for _, avoided := range o.avoided {
		if avoided == addr {
			return true
		}
	}
	return false
}

// heldBackError is the error of an attempt that was held back.
type heldBackError struct {
	server address.Address
	state  retry.ThrottleState
	lasts  bool
	spared bool
}

// Error implements the error interface.
func (e heldBackError) Error() string {
	return fmt.Sprintf("held back from %s, which is overloaded: it recently accepted %.0f %% of this client's attempts "+
		"(adaptiveThrottling)",
		e.server, 100*(1-e.state.Rejected))
}
