// Package realset puts fronts before the members of a real replica set. The primary, replication and losses are up to the set;
// this package only makes clients see the fronts' addresses, and does to the members what can be done to processes and networks.
package realset

import (
	"context"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/topology"
	"mongofork/tools/rig/server"
)

const (
	// stepDownTimeout bounds a step-down, which waits for a secondary to catch up.
	stepDownTimeout = 30 * time.Second
	// catchUp is the time that a primary waits for a secondary before it steps down anyway.
	catchUp = 5 * time.Second
)

// Set is a replica set that the lab started. It is safe for concurrent use.
type Set struct {
	deployment *server.Deployment
	links      *links
}

// URI returns the connection string of the members themselves, past all fronts.
func (s *Set) URI() string { return s.deployment.URI() }

// Backends returns the members' own addresses.
func (s *Set) Backends() []string {
	var addresses []string
	for _, m := range s.deployment.Members() {
		addresses = append(addresses, m.Address())
	}
	return addresses
}

// Roles asks all members for their roles.
func (s *Set) Roles() []topology.Role {
	roles := make([]topology.Role, len(s.deployment.Members()))
	var asked sync.WaitGroup
	for i, m := range s.deployment.Members() {
		asked.Go(func() { roles[i] = role(m) })
	}
	asked.Wait()
	return roles
}

// role asks the member itself for its role. One that starts, recovers or rolls back counts as down.
func role(m *server.Member) topology.Role {
	switch primary, secondary := m.Role(context.Background()); {
	case primary:
		return topology.RolePrimary
	case secondary:
		return topology.RoleSecondary
	default:
		return topology.RoleDown
	}
}

// StepDown makes the primary step down. It is not elected for that long, rounded up to seconds.
func (s *Set) StepDown(period time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), stepDownTimeout)
	defer cancel()
	seconds := max(int64((period+time.Second-1)/time.Second), 1)
	return s.deployment.RunAdmin(ctx, bson.D{
		{Key: "replSetStepDown", Value: seconds}, {Key: "force", Value: true},
		{Key: "secondaryCatchUpPeriodSecs", Value: min(seconds-1, int64(catchUp/time.Second))},
	})
}
