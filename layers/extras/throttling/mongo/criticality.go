package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
)

// Criticality says how much an application needs an operation. When a server is overloaded, a client withholds or fails the least critical
// operations first: retries, and with the option adaptiveThrottling first attempts, too. With adaptiveThrottling=false, it changes nothing
// unless the client has adaptiveRetries.
type Criticality = event.Criticality

// The classes of operations. An unknown value stands for Normal.
const (
	// Sheddable is background work that can be done later or not at all. An overloaded client withholds it first.
	Sheddable = event.CriticalitySheddable
	// Normal is what is not marked.
	Normal = event.CriticalityNormal
	// Critical is what users wait for. It is withheld last. If everything is critical, nothing is.
	Critical = event.CriticalityCritical
)

// NewCriticalityContext returns a context for operations of a class. It holds for all that is done with the context: all commands of
// a transaction whose callback and commit get it, and the batches of a cursor that are fetched with it, whatever the context was
// that the cursor was opened with.
func NewCriticalityContext(parent context.Context, c Criticality) context.Context {
	if c < Sheddable || c > Critical {
		c = Normal
	}
	return backpressure.WithCriticality(parent, c)
}

// CriticalityFromContext returns the class of operations that are done with the context: Normal, unless NewCriticalityContext has
// set another.
func CriticalityFromContext(ctx context.Context) Criticality {
	return backpressure.CriticalityOf(ctx)
}

// ThrottleProbabilities returns, by address, for each known server the share of reads or of writes, whichever is higher, that the
// client now withholds from it, the least critical first, from 0 to below 1. It returns nil unless adaptiveThrottling
// is true. It is safe for concurrent use.
func (c *Client) ThrottleProbabilities() map[string]float64 {
	throttled, ok := c.deployment.(interface{ ThrottleProbabilities() map[string]float64 })
	if !ok { // a deployment of tests
		return nil
	}
	return throttled.ThrottleProbabilities()
}
