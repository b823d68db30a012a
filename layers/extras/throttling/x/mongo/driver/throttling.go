package driver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/driverutil"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/internal/throttle"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// operationRun has the class of its commands, and counts what was withheld.
//
//fork:extend the least critical operations are withheld first
type operationRun struct {
	class         event.Criticality
	timesWithheld int
}

var (
	_ gate     = (*operationRun)(nil)
	_ hasClass = (*operationRun)(nil)
)

// criticality implements the hasClass interface.
func (ex *operationRun) criticality() (event.Criticality, int) { return ex.class, ex.timesWithheld }

// enter implements the gate interface.
func (ex *operationRun) enter(ctx context.Context) { ex.class = backpressure.CriticalityOf(ctx) }

// attempt says why it was not sent.
//
//fork:extend it looks like a rejection, and is none
type attempt struct {
	decision throttle.Decision // not to send it, if so
}

// withheld implements the gate interface. To applications the attempt looks like a rejection by the server, after which nothing happened.
func (ex *operationRun) withheld(a *attempt) bool {
	var why withheldError
	if !errors.As(a.err, &why) {
		return false // the deployment or the pool failed
	}
	a.decision, a.address = why.decision, why.server
	a.err = Error{
		Name:    "Throttled",
		Message: why.Error(),
		Labels:  []string{ErrSystemOverloadedError, ErrRetryableError, NoWritesPerformed},
	}
	return true
}

// reserve implements the gate interface. Sheddable commands leave half of the tokens to the others, which get any, as the specification
// says.
func (ex *operationRun) reserve() float64 {
	if ex.class == event.CriticalitySheddable {
		return retry.TokenCapacity / 2
	}
	return 0
}

// deployment returns the deployment that selects the server for the next attempt. Once a server has rejected anything, and unless
// adaptiveThrottling is false, it may withhold the attempt.
func (ex *operationRun) deployment(ctx context.Context) Deployment {
	if !ex.policy.Rejected() || ex.neverThrottled() {
		return ex.op.Deployment
	}
	attempt := ex.throttledAttempt()
	attempt.Left = ex.policy.Left(ctx, ex.purpose, ex.backedOff)
	return &throttlingDeployment{ex.op.Deployment, attempt}
}

// throttledAttempt describes the present attempt to a throttle.
func (ex *operationRun) throttledAttempt() throttle.Attempt {
	return throttle.Attempt{
		Class:     int8(ex.class),
		Write:     ex.cmd.errs.kind != retry.Read, // runCommand may be one
		First:     ex.cmd.execution.First(),
		Continues: ex.op.continues(),
		Routed:    routed(ex.op.Deployment),
	}
}

// sending implements the gate interface.
func (ex *operationRun) sending() time.Time { return ex.policy.Now() }

// counted tells the server's throttle the end of an attempt that was sent at a time.
func (ex *operationRun) counted(a *attempt, began time.Time) {
	if !ex.policy.Rejected() || ex.neverThrottled() || !a.telling() {
		return
	}
	var took time.Duration
	if !began.IsZero() {
		took = ex.policy.Now().Sub(began)
	}
	_, known := backpressure.ThrottleOf(a.server)
	known.Ended(ex.throttledAttempt(), backpressure.IsRetryableOverload(a.err), took)
}

// telling reports whether the server accepted the attempt, or rejected it because of its load: not if there is no reply, nor if it
// has SystemOverloadedError alone, such as code 473 for a query that was admitted and then stopped.
func (a *attempt) telling() bool {
	replied := !isContextError(a.err) && !a.hasLabel(NetworkError)
	return replied && (!a.hasLabel(ErrSystemOverloadedError) || a.hasLabel(ErrRetryableError))
}

// The reasons of what is withheld: throttled also for a retry after it.
const (
	throttled     retry.Reason = "throttled"
	overloadLasts retry.Reason = "overloadLasts"
)

// verdict returns the verdict after an attempt that was not sent, given the one after a rejection by the server.
func (ex *operationRun) verdict(a *attempt, verdict retry.Verdict) retry.Verdict {
	ex.timesWithheld++
	switch d := a.decision; {
	case d == throttle.TooLate && verdict.Retry:
		return retry.Verdict{Reason: retry.DeadlineTooClose}
	case d == throttle.GiveUp && ex.policy.Throttling == throttle.Retries: // a retry that was permitted, whatever holds for the next
		return retry.Verdict{Reason: overloadLasts}
	case d == throttle.GiveUp && verdict.Retry:
		return retry.Verdict{Reason: throttled}
	case verdict.Retry:
		verdict.Reason = throttled
	}
	return verdict
}

// neverThrottled reports whether the command and its retries are always sent: because work at the server would otherwise be lost or
// go on (a transaction that has begun; the end of cursors and sessions), or because no reply tells its outcome. Commands that monitor
// servers, establish connections or authenticate have no overload policy.
func (ex *operationRun) neverThrottled() bool {
	op := ex.op
	if c := op.Client; c != nil && (c.Committing || c.Aborting || c.TransactionInProgress() && !ex.cmd.startsTxn) {
		return true
	}
	return op.Legacy == LegacyKillCursors || op.Name == driverutil.EndSessionsOp || !op.WriteConcern.Acknowledged()
}

// continues reports whether the server holds a cursor for the command.
func (op Operation) continues() bool {
	return op.Legacy == LegacyGetMore || op.Client != nil && op.Client.PinnedConnection != nil
}

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
	addr, known := backpressure.ThrottleOf(server)
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
			return nil // the attempt is withheld, which says more than this error
		}
		addr, known := backpressure.ThrottleOf(server)
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
