package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// pollInterval is how often a server that is not a primary yet is asked again.
const pollInterval = 100 * time.Millisecond

// awaitPrimary waits until the deployment has a writable primary that answers
// pings and returns the server's version.
func awaitPrimary(ctx context.Context, limit time.Duration, uri string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	// The time limit is the context's alone.
	client, err := mongo.Connect(options.Client().ApplyURI(uri).SetServerSelectionTimeout(limit))
	if err != nil {
		return "", err
	}
	// Closing the sockets is all that matters, and that cannot fail. A server that
	// is gone must not be waited for, to end sessions there.
	defer func() { _ = client.Disconnect(ctx) }()

	if err := awaitWritable(ctx, client); err != nil {
		return "", err
	}
	if err := client.Ping(ctx, nil); err != nil {
		return "", fmt.Errorf("ping: %w", err)
	}
	var build struct {
		Version string `bson:"version"`
	}
	if err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Decode(&build); err != nil {
		return "", fmt.Errorf("buildInfo: %w", err)
	}
	return build.Version, nil
}

// awaitWritable asks until the server says that it takes writes. The driver
// itself keeps looking for a server that does not listen yet.
func awaitWritable(ctx context.Context, client *mongo.Client) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		var hello struct {
			IsWritablePrimary bool `bson:"isWritablePrimary"`
		}
		err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello)
		if err == nil && hello.IsWritablePrimary {
			return nil
		}
		if err == nil {
			err = errors.New("it is not a writable primary")
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("hello: %w", err)
		case <-ticker.C:
		}
	}
}
