package backpressure

import "context"

type criticalityKey struct{}

// WithCriticality returns a context for commands of a class, given as the number of a retry.Criticality.
func WithCriticality(ctx context.Context, class int8) context.Context {
	return context.WithValue(ctx, criticalityKey{}, class)
}

// CriticalityOf returns the class of the commands that are sent with the context: zero unless it is marked.
func CriticalityOf(ctx context.Context) int8 {
	class, _ := ctx.Value(criticalityKey{}).(int8)
	return class
}
