package overhead

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/bench/internal/workload"
)

// ServerResults is what was measured on a real server.
type ServerResults struct {
	Server string `json:"server"` // its version, and where it came from
	*Results
}

// MeasureServer is Measure on a real server, in a database of its own, which it drops in the end.
func MeasureServer(ctx context.Context, c Config) (_ *Results, err error) {
	client, err := mongo.Connect(options.Client().ApplyURI(c.URI))
	if err != nil {
		return nil, err
	}
	database := client.Database("bench_" + rand.Text())
	defer func() {
		// What was created is dropped if the measurement was interrupted, too.
		ctx := context.WithoutCancel(ctx)
		err = errors.Join(err, database.Drop(ctx), client.Disconnect(ctx))
	}()
	if err := workload.Fill(ctx, database); err != nil {
		return nil, fmt.Errorf("fill the database %s: %w", database.Name(), err)
	}
	c.Database = database.Name()
	return Measure(ctx, c)
}
