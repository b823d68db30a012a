// Package members puts fronts before the members of a real replica set. The primary, replication and losses are up to the set;
// this package only makes clients see the fronts' addresses.
package members

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/topology"
)

const (
	// askTimeout is the time to report its state after which a member counts as down.
	askTimeout = time.Second
	// stepDownTimeout bounds a step-down, which waits for a secondary to catch up.
	stepDownTimeout = 30 * time.Second
	// catchUp is the time that a primary waits for a secondary before it steps down anyway.
	catchUp = 5 * time.Second
)

// Member is a member of a replica set.
type Member struct {
	// Host is its name in the set's configuration.
	Host string
	// Backend is its own address.
	Backend proxy.Backend
}

// Set is a replica set behind fronts. It is safe for concurrent use once Fronts was called.
type Set struct {
	name    string
	uri     string
	members []Member
	fronts  []string
	names   map[string]string // of fronts by those of members
	own     *Own              // nil if the lab did not start the members
}

// New returns a set of these members. The connection string is used to request step-downs.
func New(name, uri string, members []Member) (*Set, error) {
	if name == "" || len(members) == 0 {
		return nil, errors.New("a replica set needs a name and members")
	}
	return &Set{name: name, uri: uri, members: members}, nil
}

// Discover asks the replica set that a connection string names for its members. Options such as TLS apply to the connections to
// them.
func Discover(ctx context.Context, uri string) (*Set, error) {
	opts := options.Client().ApplyURI(uri)
	if err := opts.Validate(); err != nil {
		return nil, fmt.Errorf("the backend's URI: %w", err)
	}
	var hello struct {
		SetName  string   `bson:"setName"`
		Hosts    []string `bson:"hosts"`
		Passives []string `bson:"passives"`
		Arbiters []string `bson:"arbiters"`
	}
	err := withClient(ctx, uri, func(client *mongo.Client) error {
		return client.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}},
			options.RunCmd().SetReadPreference(readpref.Nearest())).Decode(&hello)
	})
	if err != nil {
		return nil, fmt.Errorf("ask the backend for the members of its replica set: %w", err)
	}
	if hello.SetName == "" {
		return nil, errors.New(`the backend is not a member of a replica set; start it with --replSet, or give the topology "replicaset:3"`)
	}
	var found []Member
	for _, host := range append(append(hello.Hosts, hello.Passives...), hello.Arbiters...) {
		found = append(found, Member{Host: host, Backend: proxy.BackendAt(host, opts.TLSConfig)})
	}
	return New(hello.SetName, uri, found)
}

func withClient(ctx context.Context, uri string, do func(*mongo.Client) error) error {
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		return err
	}
	defer func() { _ = client.Disconnect(context.WithoutCancel(ctx)) }() // closing the sockets is all that matters
	return do(client)
}

// Members returns the members, in the order of the fronts.
func (s *Set) Members() []Member { return s.members }

// Name returns the set's name.
func (s *Set) Name() string { return s.name }

// Fronts sets the fronts' addresses, in the order of the members.
func (s *Set) Fronts(hosts []string) error {
	if len(hosts) != len(s.members) {
		return fmt.Errorf("%d fronts for %d members", len(hosts), len(s.members))
	}
	s.fronts, s.names = hosts, make(map[string]string)
	for i, m := range s.members {
		s.names[m.Host], s.names[m.Backend.Address] = hosts[i], hosts[i]
	}
	return nil
}

// Handler returns the handler that makes a front that member.
func (s *Set) Handler(int) proxy.Handler { return &member{set: s} }

// Down does nothing: an unreachable front is not a lost member.
func (s *Set) Down(int) {}

// Up does nothing, either.
func (s *Set) Up(int) {}

// Close does nothing.
func (s *Set) Close() {}

// Status asks all members for their roles.
func (s *Set) Status() topology.Status {
	status := topology.Status{Topology: fmt.Sprintf("%s:%d", topology.Members, len(s.members))}
	status.Members = make([]topology.MemberStatus, len(s.members))
	terms := make([]int64, len(s.members))
	var asked sync.WaitGroup
	for i := range s.members {
		asked.Go(func() {
			var role topology.Role
			role, terms[i] = s.members[i].ask()
			status.Members[i] = topology.MemberStatus{Host: s.host(i), Role: role}
		})
	}
	asked.Wait()
	for _, term := range terms {
		status.Term = max(status.Term, term)
	}
	return status
}

// host returns the address of a member's front, or the member's own if there are no fronts.
func (s *Set) host(i int) string {
	if s.fronts == nil {
		return s.members[i].Host
	}
	return s.fronts[i]
}

// StepDown makes the primary step down. It is not elected for that long, rounded up to seconds.
func (s *Set) StepDown(period time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), stepDownTimeout)
	defer cancel()
	seconds := int64((period + time.Second - 1) / time.Second)
	command := bson.D{
		{Key: "replSetStepDown", Value: max(seconds, 1)}, {Key: "force", Value: true},
		{Key: "secondaryCatchUpPeriodSecs", Value: min(max(seconds, 1)-1, int64(catchUp/time.Second))},
	}
	err := withClient(ctx, s.uri, func(client *mongo.Client) error {
		return client.Database("admin").RunCommand(ctx, command).Err()
	})
	if err != nil {
		return fmt.Errorf("step down: %w", err)
	}
	return nil
}
