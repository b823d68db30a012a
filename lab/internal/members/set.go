// Package members puts fronts before the members of a real replica set. The primary, replication and losses are up to the set;
// this package only makes clients see the fronts' addresses, and does to the members what can be done to processes and networks.
package members

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/topology"
	"mongofork/tools/rig/server"
)

const (
	// askTimeout is the time to report its state after which a member counts as down.
	askTimeout = time.Second
	// stepDownTimeout bounds a step-down, which waits for a secondary to catch up.
	stepDownTimeout = 30 * time.Second
	// catchUp is the time that a primary waits for a secondary before it steps down anyway.
	catchUp = 5 * time.Second
)

// member is a member of a replica set.
type member struct {
	// host is its name in the set's configuration.
	host string
	// address is its own address.
	address string
}

// Set is a replica set that the lab started. It is safe for concurrent use.
type Set struct {
	members []member

	deployment *server.Deployment
	links      *links
}

func withClient(ctx context.Context, uri string, do func(*mongo.Client) error) error {
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		return err
	}
	defer func() { _ = client.Disconnect(context.WithoutCancel(ctx)) }() // closing the sockets is all that matters
	return do(client)
}

// URI returns the connection string of the members themselves, past all fronts.
func (s *Set) URI() string { return s.deployment.URI() }

// Backends returns the members' own addresses.
func (s *Set) Backends() []string {
	var addresses []string
	for _, m := range s.members {
		addresses = append(addresses, m.address)
	}
	return addresses
}

// Roles asks all members for their roles.
func (s *Set) Roles() []topology.Role {
	roles := make([]topology.Role, len(s.members))
	var asked sync.WaitGroup
	for i, m := range s.members {
		asked.Go(func() { roles[i] = m.role() })
	}
	asked.Wait()
	return roles
}

// role asks the member itself for its role.
func (m *member) role() topology.Role {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	var hello struct {
		Primary   bool `bson:"isWritablePrimary"`
		Secondary bool `bson:"secondary"`
	}
	err := withClient(ctx, "mongodb://"+m.address+"/?directConnection=true", func(client *mongo.Client) error {
		return client.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello)
	})
	switch {
	case err == nil && hello.Primary:
		return topology.RolePrimary
	case err == nil && hello.Secondary:
		return topology.RoleSecondary
	default:
		return topology.RoleDown // or it starts, recovers or rolls back
	}
}

// StepDown makes the primary step down. It is not elected for that long, rounded up to seconds.
func (s *Set) StepDown(period time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), stepDownTimeout)
	defer cancel()
	seconds := max(int64((period+time.Second-1)/time.Second), 1)
	command := bson.D{
		{Key: "replSetStepDown", Value: seconds}, {Key: "force", Value: true},
		{Key: "secondaryCatchUpPeriodSecs", Value: min(seconds-1, int64(catchUp/time.Second))},
	}
	err := withClient(ctx, s.URI(), func(client *mongo.Client) error {
		return client.Database("admin").RunCommand(ctx, command).Err()
	})
	if err != nil {
		return fmt.Errorf("step down: %w", err)
	}
	return nil
}
