//go:build criticality

package main

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/mongo"
)

// background marks what nobody waits for, so that the driver holds it back first.
func background(ctx context.Context) context.Context {
	return mongo.NewCriticalityContext(ctx, mongo.Sheddable)
}
