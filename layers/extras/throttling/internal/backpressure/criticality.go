package backpressure

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/event"
)

type criticalityKey struct{}

// WithCriticality returns a context for commands of a class.
func WithCriticality(ctx context.Context, class event.Criticality) context.Context {
	return context.WithValue(ctx, criticalityKey{}, class)
}

// CriticalityOf returns the class of the commands that are sent with the context.
func CriticalityOf(ctx context.Context) event.Criticality {
	class, _ := ctx.Value(criticalityKey{}).(event.Criticality)
	return class
}
