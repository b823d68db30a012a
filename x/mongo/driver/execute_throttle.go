package driver

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/internal/driverutil"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// throttler is implemented by a Server of a client with adaptiveThrottling.
type throttler interface {
	// Throttle returns the server's address, and what decides which attempts to hold back from it, or nil.
	Throttle() (address.Address, *retry.Throttle)
}

// throttleOf returns the address and the throttle of a server, which are empty and nil if it has none.
func throttleOf(server Server) (address.Address, *retry.Throttle) {
	if t, ok := server.(throttler); ok {
		return t.Throttle()
	}
	return "", nil
}

// throttling decides whether the present attempt is refused.
type throttling struct {
	policy *OverloadPolicy // nil if it is not to be refused
	first  bool            // it is the first of its command
}

// throttle prepares for the attempts of a command.
func (ex *operationRun) throttle() {
	ex.op.throttling = throttling{}
	if ex.overload != nil && ex.overload.Policy.Throttling != nil && !ex.op.neverThrottled() {
		ex.op.throttling.policy = ex.overload
	}
}

// neverThrottled reports whether the command is always sent: because work at the server would otherwise be lost or go on (the end
// of a transaction, its commands after the first, what is pinned to a connection, cursors and sessions), or because no reply
// tells its outcome. Commands that monitor servers, establish connections or authenticate have no overload policy.
func (op Operation) neverThrottled() bool {
	if c := op.Client; c != nil {
		if c.Committing || c.Aborting || c.TransactionInProgress() || c.PinnedConnection != nil {
			return true
		}
	}
	return op.Legacy == LegacyGetMore || op.Legacy == LegacyKillCursors ||
		op.Name == driverutil.EndSessionsOp || !op.WriteConcern.Acknowledged()
}

// unlessRefused returns the selected server, or another that does not refuse the attempt if that one does. If there is none, it fails
// with a refusal, except for a share of the first attempts of commands.
func (op Operation) unlessRefused(
	ctx context.Context,
	requestID int32,
	deprioritized []description.Server,
	server Server,
) (Server, error) {
	if op.throttling.policy == nil {
		return server, nil
	}
	addr, throttle := throttleOf(server)
	if !throttle.Active() {
		return server, nil
	}
	policy := op.throttling.policy.Policy
	draw := policy.Jitter()
	if !throttle.Refuses(draw) {
		return server, nil
	}
	if other := op.selectWilling(ctx, requestID, deprioritized, addr); other != nil {
		throttle.Refused()
		return other, nil
	}
	if policy.Throttling.Spares(op.throttling.first, draw) {
		return server, nil
	}
	throttle.Refused()
	return nil, refusal{addr, throttle.State()}
}

// selectWilling selects an equally suitable server that does not refuse the attempt; it returns nil if there is none. It does not
// relax the read preference and the latency window.
func (op Operation) selectWilling(
	ctx context.Context,
	requestID int32,
	deprioritized []description.Server,
	refused address.Address,
) Server {
	others := &otherServers{Deployment: op.Deployment, refused: []address.Address{refused}}
	op.Deployment = others
	for {
		server, err := op.upstreamSelectServer(ctx, requestID, deprioritized)
		if err != nil || others.none {
			return nil
		}
		addr, throttle := throttleOf(server)
		if !throttle.Refuses(op.throttling.policy.Policy.Jitter()) {
			return server
		}
		others.refused = append(others.refused, addr)
	}
}

// otherServers is a deployment without the servers that refuse an attempt. If no other is suitable, it selects one of them
// nevertheless, because otherwise it would wait for others to appear.
type otherServers struct {
	Deployment
	refused []address.Address
	none    bool // there was no other
}

// SelectServer implements the Deployment interface.
func (o *otherServers) SelectServer(ctx context.Context, selector description.ServerSelector) (Server, error) {
	return o.Deployment.SelectServer(ctx, othersOf{o, selector})
}

// othersOf selects among the servers that another selector selects.
type othersOf struct {
	*otherServers
	suitable description.ServerSelector
}

// SelectServer implements the description.ServerSelector interface.
func (o othersOf) SelectServer(topo description.Topology, candidates []description.Server) ([]description.Server, error) {
	suitable, err := o.suitable.SelectServer(topo, candidates)
	if err != nil {
		return nil, err
	}
	var others []description.Server
	for _, server := range suitable {
		if !o.refuses(server.Addr) {
			others = append(others, server)
		}
	}
	if o.none = len(others) == 0; o.none {
		return suitable, nil
	}
	return others, nil
}

func (o *otherServers) refuses(addr address.Address) bool {
	for _, refused := range o.refused {
		if refused == addr {
			return true
		}
	}
	return false
}

// refusal is the error of an attempt that was not sent.
type refusal struct {
	server address.Address
	state  retry.ThrottleState
}

// Error implements the error interface.
func (r refusal) Error() string {
	return fmt.Sprintf("not sent to %s, which is overloaded: of late it accepted %.0f %% of what this client had for it (adaptiveThrottling)",
		r.server, 100*(1-r.state.Rejected))
}

// checkoutFailure returns the failure of an attempt that got no connection. If the attempt was refused, applications see the same
// failure as for a rejection by the server after which nothing was executed.
func checkoutFailure(ctx context.Context, err error) *failedAttempt {
	var refused refusal
	if !errors.As(err, &refused) {
		return &failedAttempt{err: err, stage: selecting, outOfTime: outOfTime(ctx, err, selecting)}
	}
	return &failedAttempt{
		stage:  throttled,
		server: refused.server,
		err: Error{
			Name:    "Throttled",
			Message: refused.Error(),
			Labels:  []string{ErrSystemOverloadedError, ErrRetryableError, NoWritesPerformed},
		},
	}
}

// noteEnd reports the end of an attempt to the server's throttle.
func (ex *operationRun) noteEnd(err error) {
	if ex.overload == nil || ex.overload.Policy.Throttling == nil || ex.sent.moreToCome {
		return
	}
	_, throttle := throttleOf(ex.srvr)
	throttle.Ended(err != nil && (&failedAttempt{err: err, stage: sending}).hasErrorLabel(ErrSystemOverloadedError))
}
