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

// pollInterval is the time between questions to a server that is not a primary yet.
const pollInterval = 100 * time.Millisecond

// awaitPrimary waits until the deployment has a writable primary that answers
// pings and returns the server's version.
func awaitPrimary(ctx context.Context, limit time.Duration, uri string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	// Only the context limits the time.
	client, err := mongo.Connect(options.Client().ApplyURI(uri).SetServerSelectionTimeout(limit))
	if err != nil {
		return "", err
	}
	// Only the sockets have to be closed, which cannot fail. Ending sessions would wait for a server that may be gone.
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

// awaitWritable asks until the server says that it accepts writes. The driver itself keeps looking for a server that does not
// listen yet.
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
