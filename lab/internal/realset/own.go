package realset

import (
	"context"
	"fmt"
	"time"

	"mongofork/lab/internal/fault"
	"mongofork/tools/rig/server"
)

// SetName is the name of a replica set that the lab starts.
const SetName = "lab"

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
	err := s.deployment.Stop()
	s.links.close()
	return err
}

// Version returns the server's version, of members that the lab started.
func (s *Set) Version() string { return s.deployment.Version() }

// Err returns why a member that the lab started ended without being killed, or nil.
func (s *Set) Err() error { return s.deployment.Err() }

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
	members := s.deployment.Members()
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
