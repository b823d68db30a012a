package mongod

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	// Elections depend on these times, so they are short.
	electionTimeoutMillis   = 2000
	heartbeatIntervalMillis = 500
)

// withClient calls a function with a client of this member alone, without credentials.
func (m *Member) withClient(ctx context.Context, do func(*mongo.Client) error) error {
	direct := options.Client().ApplyURI(m.URI()).SetServerSelectionTimeout(m.deployment.options.StartTimeout)
	direct.Auth = nil // there is no user yet, and hello needs none
	client, err := mongo.Connect(direct)
	if err != nil {
		return err
	}
	// Ending sessions is not worth waiting for a server that may be gone.
	defer func() { _ = client.Disconnect(ctx) }()
	return do(client)
}

// assemble makes the members a replica set or a standalone.
func (d *Deployment) assemble(ctx context.Context) error {
	if err := d.nameHosts(); err != nil {
		return err
	}
	return d.members[0].withClient(ctx, func(first *mongo.Client) error {
		if !d.options.Standalone {
			if err := first.Database("admin").RunCommand(ctx, d.configuration()).Err(); err != nil {
				return fmt.Errorf("replSetInitiate on %v: %w", d.members[0], err)
			}
			if err := d.awaitRoles(ctx); err != nil {
				return err
			}
		}
		if d.user != nil {
			if err := d.createUser(ctx); err != nil {
				return err
			}
		}
		return d.readVersion(ctx)
	})
}

func (d *Deployment) nameHosts() error {
	if d.options.Host == nil {
		return nil
	}
	for _, m := range d.members {
		host, err := d.options.Host(m.number, m.address)
		if err != nil {
			return fmt.Errorf("name %v: %w", m, err)
		}
		m.host = host
	}
	return nil
}

// configuration returns the command that makes the members a replica set. The first member is normally the first primary.
func (d *Deployment) configuration() bson.D {
	var members bson.A
	for _, m := range d.members {
		members = append(members, bson.D{{Key: "_id", Value: m.number}, {Key: "host", Value: m.host}})
	}
	configuration := bson.D{
		{Key: "_id", Value: d.options.ReplicaSet},
		{Key: "members", Value: members},
		{Key: "settings", Value: bson.D{
			{Key: "electionTimeoutMillis", Value: electionTimeoutMillis},
			{Key: "heartbeatIntervalMillis", Value: heartbeatIntervalMillis},
		}},
	}
	if d.options.ConfigServer {
		configuration = append(configuration, bson.E{Key: "configsvr", Value: true})
	}
	return bson.D{{Key: "replSetInitiate", Value: configuration}}
}
