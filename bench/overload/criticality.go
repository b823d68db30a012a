//go:build criticality

package overload

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/mongo"
)

// mark returns a context for the operations of a class.
func mark(ctx context.Context, criticality int8) context.Context {
	if criticality == 0 {
		return ctx
	}
	return mongo.NewCriticalityContext(ctx, mongo.Criticality(criticality))
}
