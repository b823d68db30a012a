// Package realset puts fronts before the members of a real replica set. The primary, replication and losses are up to the set;
// this package only makes clients see the fronts' addresses, and does to the members what can be done to processes and networks.
package realset

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/fault"
	"mongofork/lab/internal/topology"
	"mongofork/tools/rig/server"
)

const (
	// stepDownTimeout bounds a step-down, which waits for a secondary to catch up.
	stepDownTimeout = 30 * time.Second
	// catchUp is the time that a primary waits for a secondary before it steps down anyway.
	catchUp = 5 * time.Second
)

// SetName is the name of a replica set that the lab starts.
const SetName = "lab"

// Set is a replica set that the lab started. It is safe for concurrent use.
type Set struct {
	*server.Deployment
	links *links
}

// Start starts that many members of a mongod, which talk to each other through links. Their files are in a new folder below dir,
// and are removed by Stop.
func Start(ctx context.Context, binary, dir string, count int) (*Set, error) {
	links := newLinks(ctx, count)
	deployment, err := server.Start(ctx, server.Options{
		Binary: binary, Dir: dir, Form: server.ReplicaSet(count), ReplicaSet: SetName, Host: links.serve,
	})
	if err != nil {
		links.close()
		return nil, err
	}
	return &Set{deployment, links}, nil
}

// Stop ends the members that the lab started, and leaves nothing of them.
func (s *Set) Stop() error {
	err := s.Deployment.Stop()
	s.links.close()
	return err
}

// What can happen to a member.
const (
	Kill      = "kill"      // SIGKILL
	Restart   = "restart"   // on the same data; it is killed first where it runs
	Pause     = "pause"     // SIGSTOP
	Resume    = "resume"    // SIGCONT
	Partition = "partition" // everything between it and the others is silent; all other ways between members are healed
	Heal      = "heal"      // of all ways between members
)

// Disturb lets something happen to a member. A partition heals by itself after a time, unless that is 0.
func (s *Set) Disturb(ctx context.Context, what string, number int, after time.Duration) error {
	members := s.Members()
	if number < 0 || number >= len(members) {
		return fmt.Errorf("there is no member %d; they are numbered from 0 to %d", number, len(members)-1)
	}
	switch process := members[number]; what {
	case Kill:
		process.Kill()
		return nil
	case Restart:
		return process.Restart(ctx)
	case Pause:
		return process.Pause()
	case Resume:
		return process.Resume()
	case Partition:
		s.partition(number, after)
		return nil
	case Heal:
		s.partition(nobody, 0)
		return nil
	default:
		return fmt.Errorf("%q is unknown; give %q, %q, %q, %q, %q or %q", what, Kill, Restart, Pause, Resume, Partition, Heal)
	}
}

// nobody is no member's number.
const nobody = -1

func (s *Set) partition(number int, after time.Duration) {
	for from, ways := range s.links.ways {
		for to := range ways {
			kind := fault.Off
			if (from == number) != (to == number) {
				kind = fault.Silent
			}
			ways[to].Set(kind, after)
		}
	}
}

// Backends returns the members' own addresses.
func (s *Set) Backends() []string {
	var addresses []string
	for _, m := range s.Members() {
		addresses = append(addresses, m.Address())
	}
	return addresses
}

// Roles asks all members for their roles.
func (s *Set) Roles() []topology.Role {
	roles := make([]topology.Role, len(s.Members()))
	var asked sync.WaitGroup
	for i, m := range s.Members() {
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
	return s.RunAdmin(ctx, bson.D{
		{Key: "replSetStepDown", Value: seconds}, {Key: "force", Value: true},
		{Key: "secondaryCatchUpPeriodSecs", Value: min(seconds-1, int64(catchUp/time.Second))},
	})
}
