package members

import (
	"context"
	"fmt"
	"slices"
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
	s := &Set{deployment: deployment, links: links}
	for _, m := range deployment.Members() {
		s.members = append(s.members, member{host: m.Host(), address: m.Address()})
	}
	return s, nil
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

// Action is something that happens to the process of a member.
type Action string

// The actions on a member.
const (
	Kill    Action = "kill"    // SIGKILL
	Restart Action = "restart" // on the same data; it is killed first where it runs
	Pause   Action = "pause"   // SIGSTOP
	Resume  Action = "resume"  // SIGCONT
)

// Process does something to the process of a member that the lab started.
func (s *Set) Process(ctx context.Context, number int, action Action) error {
	if err := s.check(number); err != nil {
		return err
	}
	switch process := s.deployment.Members()[number]; action {
	case Kill:
		process.Kill()
		return nil
	case Restart:
		return process.Restart(ctx)
	case Pause:
		return process.Pause()
	case Resume:
		return process.Resume()
	default:
		return fmt.Errorf("%q is unknown; give %q, %q, %q or %q", string(action), Kill, Restart, Pause, Resume)
	}
}

// Partition silences everything between these members and the others, and heals all other ways between members, for that time,
// where it is more than 0. Without members it heals all.
func (s *Set) Partition(numbers []int, duration time.Duration) error {
	for _, number := range numbers {
		if err := s.check(number); err != nil {
			return err
		}
	}
	for from := range s.members {
		for to := range s.members {
			kind := fault.Off
			if slices.Contains(numbers, from) != slices.Contains(numbers, to) {
				kind = fault.Silent
			}
			s.links.ways[from][to].Set(kind, duration)
		}
	}
	return nil
}

func (s *Set) check(number int) error {
	if number < 0 || number >= len(s.members) {
		return fmt.Errorf("there is no member %d; they are numbered from 0 to %d", number, len(s.members)-1)
	}
	return nil
}
