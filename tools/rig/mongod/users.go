package mongod

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// rootUser is the only user.
const rootUser = "root"

// makeUser makes up the user for clients, and writes the key by which members recognize each other.
func makeUser(dir string) (user *url.Userinfo, key string, err error) {
	key = filepath.Join(dir, "key")
	return url.UserPassword(rootUser, rand.Text()), key, os.WriteFile(key, []byte(rand.Text()+rand.Text()), 0o600)
}

// createUser creates the user. A server without users allows this to any connection from its own machine.
func (d *Deployment) createUser(ctx context.Context) error {
	primary := d.members[0]
	if !d.options.Standalone {
		var err error
		if primary, err = d.awaitPrimary(ctx); err != nil {
			return err
		}
	}
	password, _ := d.user.Password()
	command := bson.D{
		{Key: "createUser", Value: d.user.Username()}, {Key: "pwd", Value: password}, {Key: "roles", Value: bson.A{"root"}},
	}
	if !d.options.Standalone {
		// Clients may log in to any member.
		command = append(command, bson.E{Key: "writeConcern", Value: bson.D{{Key: "w", Value: len(d.members)}}})
	}
	return primary.withClient(ctx, func(client *mongo.Client) error {
		if err := client.Database("admin").RunCommand(ctx, command).Err(); err != nil {
			return fmt.Errorf("createUser on %v: %w", primary, err)
		}
		return nil
	})
}

// readVersion asks the first member for its version, connecting as clients do.
func (d *Deployment) readVersion(ctx context.Context) error {
	first := d.members[0]
	client, err := mongo.Connect(options.Client().ApplyURI(first.URI()))
	if err != nil {
		return err
	}
	defer func() { _ = client.Disconnect(ctx) }()
	var build struct {
		Version string `bson:"version"`
	}
	if err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Decode(&build); err != nil {
		return fmt.Errorf("buildInfo on %v: %w", first, err)
	}
	d.version = build.Version
	return nil
}
