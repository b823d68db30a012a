// Package scratch has databases on real servers that exist for one measurement.
package scratch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Use fills a new database on the server of the connection string, calls a function with it, and drops it at the end.
func Use(
	ctx context.Context, uri string, fill func(context.Context, *mongo.Database) error, use func(database string) error,
) (err error) {
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		return err
	}
	database := client.Database("bench_" + rand.Text())
	defer func() {
		// What was created is dropped if the measurement was interrupted, too.
		ctx := context.WithoutCancel(ctx)
		err = errors.Join(err, database.Drop(ctx), client.Disconnect(ctx))
	}()
	if err := fill(ctx, database); err != nil {
		return fmt.Errorf("fill the database %s: %w", database.Name(), err)
	}
	return use(database.Name())
}
