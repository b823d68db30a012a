// Package members puts fronts before the members of a real replica set. The primary, replication and losses are up to the set;
// this package only makes clients see the fronts' addresses, and does to the members what can be done to processes and networks.
package members

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/topology"
	"mongofork/lab/internal/wire"
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

// Status asks all members for their roles.
func (s *Set) Status() topology.Status {
	status := topology.Status{Topology: fmt.Sprintf("%s:%d", topology.Members, len(s.members))}
	status.Members = make([]topology.MemberStatus, len(s.members))
	terms := make([]int64, len(s.members))
	var asked sync.WaitGroup
	for i, m := range s.members {
		asked.Go(func() {
			var role topology.Role
			role, terms[i] = m.ask()
			status.Members[i] = topology.MemberStatus{Host: m.host, Role: role}
		})
	}
	asked.Wait()
	for _, term := range terms {
		status.Term = max(status.Term, term)
	}
	return status
}

// ask asks the member for its role and the election it knows of. It uses the wire protocol only, so that no driver's judgement is
// involved.
func (m *member) ask() (topology.Role, int64) {
	reply, err := m.hello()
	if err != nil {
		return topology.RoleDown, 0
	}
	term, _ := bsondoc.Int64(reply.Lookup("lastWrite", "opTime", "t"))
	switch {
	case bsondoc.IsTrue(reply.Lookup("isWritablePrimary")):
		return topology.RolePrimary, term
	case bsondoc.IsTrue(reply.Lookup("secondary")):
		return topology.RoleSecondary, term
	default:
		return topology.RoleDown, term // it starts, recovers or rolls back
	}
}

func (m *member) hello() (bson.Raw, error) {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", m.address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(askTimeout)); err != nil {
		return nil, err
	}
	command, err := bson.Marshal(bson.D{{Key: "hello", Value: 1}, {Key: "$db", Value: "admin"}})
	if err != nil {
		return nil, err
	}
	if err := wire.Write(conn, &wire.Message{RequestID: 1, Body: command}); err != nil {
		return nil, err
	}
	reply, err := wire.Read(conn)
	if err != nil {
		return nil, err
	}
	return reply.Body, nil
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
