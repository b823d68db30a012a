package driver

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/throttle"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// throttlingDeployment is the deployment of one attempt, which it may withhold.
type throttlingDeployment struct {
	Deployment
	attempt throttle.Attempt
}

// SelectServer implements the Deployment interface. It returns the selected server or, if the attempt is withheld from that, another
// from which it is not. If there is none, it fails with a withheldError.
func (d *throttlingDeployment) SelectServer(ctx context.Context, selector description.ServerSelector) (Server, error) {
	server, err := d.Deployment.SelectServer(ctx, selector)
	if err != nil {
		return nil, err
	}
	addr, known := backpressure.ThrottleOf(carrier(server))
	decision := known.Decide(d.attempt)
	if decision == throttle.Send {
		return server, nil
	}
	others := otherServers{suitable: selector, avoided: map[address.Address]bool{addr: true}}
	if other := d.selectOther(ctx, others); other != nil {
		return other, nil
	}
	_, accepted := known.State(d.attempt.Write)
	return nil, withheldError{addr, decision, accepted, known.Scope()}
}

// routed reports whether the deployment's servers stand for others, of which perhaps only one is overloaded.
func routed(d Deployment) bool {
	kind := d.Kind()
	return kind == description.TopologyKindSharded || kind == description.TopologyKindLoadBalanced
}

// selectOther selects an equally suitable server from which the attempt is not withheld; it returns nil if there is none. It does not
// relax the read preference and the latency window.
func (d *throttlingDeployment) selectOther(ctx context.Context, others otherServers) Server {
	for {
		server, err := d.Deployment.SelectServer(ctx, others)
		if err != nil {
			return nil
		}
		addr, known := backpressure.ThrottleOf(carrier(server))
		switch {
		case others.avoided[addr]:
			return nil // there is no other
		case known.Decide(d.attempt) == throttle.Send:
			return server
		}
		others.avoided[addr] = true
	}
}

// otherServers selects those suitable servers from which the attempt was not withheld. If there is none, it selects all, because the
// deployment would wait for others to appear.
type otherServers struct {
	suitable description.ServerSelector
	avoided  map[address.Address]bool
}

// SelectServer implements the description.ServerSelector interface.
func (o otherServers) SelectServer(topo description.Topology, candidates []description.Server) ([]description.Server, error) {
	suitable, err := o.suitable.SelectServer(topo, candidates)
	if err != nil {
		return nil, err
	}
	var others []description.Server
	for _, server := range suitable {
		if !o.avoided[server.Addr] {
			others = append(others, server)
		}
	}
	if len(others) == 0 {
		return suitable, nil
	}
	return others, nil
}

// withheldError is the error of an attempt that was withheld.
type withheldError struct {
	server   address.Address
	decision throttle.Decision
	accepted float64 // share of what was sent
	scope    throttle.Scope
}

// Error implements the error interface.
func (e withheldError) Error() string {
	said := fmt.Sprintf("withheld from %s, which is overloaded: it recently accepted %.0f %% of what this client sent",
		e.server, 100*e.accepted)
	if e.scope == throttle.Retries {
		return said + ", so a retry would only take the place of another command"
	}
	return said + " (adaptiveThrottling=true)"
}
