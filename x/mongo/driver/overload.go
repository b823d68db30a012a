package driver

import (
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/logger"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
)

// OverloadRetrier is implemented by a Deployment or Server whose commands are subject to the overload retry policy of
// the Client Backpressure specification. The deployments that monitor servers, establish connections and authenticate do
// not implement it, as the specification exempts their commands.
type OverloadRetrier interface {
	// OverloadPolicy returns the policy of the client, or nil if there is none.
	OverloadPolicy() *OverloadPolicy
}

// connectionError is implemented by connection errors, and describes connections that could not be established. If the server
// may be overloaded, the error has the labels of a retryable overload error.
type connectionError interface {
	error

	// HasErrorLabel reports whether the error, or that of the failed handshake command, has the label.
	HasErrorLabel(string) bool

	// ServerAddress returns the server to which the connection could not be established. It is empty for a connection that was
	// established, or that no pool requested.
	ServerAddress() address.Address
}

// OverloadPolicy is the overload retry policy of one client, with the means to carry it out. It is made with the client, is safe
// for concurrent use, and must not be changed. A nil policy retries nothing after overload errors.
type OverloadPolicy struct {
	// Policy decides which commands are retried and after what backoff.
	retry.Policy

	// Retarget makes a retry after an overload error avoid the overloaded servers, if another is suitable.
	Retarget bool

	// Clock measures and waits for backoffs.
	Clock backpressure.Clock

	// Monitor and Logger, which may be nil, receive the retry decisions under all policies.
	Monitor *event.RetryMonitor
	Logger  *logger.Logger

	lines    logLimiter
	rejected atomic.Bool
}

// overloadPolicy returns the policy of a deployment or server, or nil if it has none.
func overloadPolicy(holder any) *OverloadPolicy {
	if retrier, ok := holder.(OverloadRetrier); ok {
		return retrier.OverloadPolicy()
	}
	return nil
}

// OverloadPolicy implements the OverloadRetrier interface. It returns the policy of the server.
func (ssd SingleServerDeployment) OverloadPolicy() *OverloadPolicy {
	return overloadPolicy(ssd.Server)
}

// OverloadPolicy implements the OverloadRetrier interface. It returns the policy of the server that the cursor was
// opened on.
func (lbcd *loadBalancedCursorDeployment) OverloadPolicy() *OverloadPolicy {
	return overloadPolicy(lbcd.errorProcessor)
}

// NoteRejection records that a server has rejected a command or a connection of the client.
func (p *OverloadPolicy) NoteRejection() {
	if !p.rejected.Load() {
		p.rejected.Store(true)
	}
}

// Rejected reports whether that has ever happened to a client with adaptiveThrottling. Without that option, and until then, there
// is nothing to hold back, and no server to prefer.
func (p *OverloadPolicy) Rejected() bool {
	return p != nil && p.Throttling != nil && p.rejected.Load()
}

func (p *OverloadPolicy) start(kind retry.Kind, limit retry.Limit) retry.Execution {
	if p == nil {
		return (*retry.Policy)(nil).Start(kind, limit)
	}
	return p.Start(kind, limit)
}
