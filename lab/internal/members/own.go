package members

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"mongofork/lab/internal/fault"
	"mongofork/lab/internal/link"
	"mongofork/lab/internal/proxy"
	"mongofork/tools/rig/server"
)

// SetName is the name of a replica set that the lab starts.
const SetName = "lab"

// ErrNotOwn is for actions that are impossible on members that the lab did not start.
var ErrNotOwn = errors.New("the lab did not start the members; let it start them with --mongod")

// ErrNoMember is returned for a member's number that is too high or below 0.
var ErrNoMember = errors.New("there is no such member")

// Own is a replica set that the lab started. Its members talk to each other through links.
type Own struct {
	*Set
	deployment *server.Deployment
	links      *link.Links
	stop       context.CancelFunc
	served     *errgroup.Group
}

// Start starts that many members of a mongod. Their files are in a new folder below dir, and are removed by Stop.
func Start(ctx context.Context, binary, dir string, members int) (*Own, error) {
	links, err := link.New()
	if err != nil {
		return nil, err
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	served, serving := errgroup.WithContext(serving)
	o := &Own{links: links, stop: stop, served: served}
	o.deployment, err = server.Start(ctx, server.Options{
		Binary: binary, Dir: dir, Form: server.ReplicaSet(members), ReplicaSet: SetName,
		Host: func(member int, address string) (string, error) {
			host, err := links.Add(address)
			if err == nil {
				served.Go(func() error { return links.Serve(serving, member) })
			}
			return host, err
		},
	})
	if err != nil {
		return nil, errors.Join(err, o.Stop())
	}
	var started []Member
	for _, m := range o.deployment.Members() {
		started = append(started, Member{Host: m.Host(), Backend: proxy.BackendAt(m.Address(), nil)})
	}
	o.Set, err = New(SetName, o.deployment.URI(), started)
	if err != nil {
		return nil, errors.Join(err, o.Stop())
	}
	o.Set.own = o
	return o, nil
}

// Stop ends the members and the links, and leaves nothing of them.
func (o *Own) Stop() error {
	var err error
	if o.deployment != nil {
		err = o.deployment.Stop()
	}
	o.stop()
	err = errors.Join(err, o.served.Wait())
	o.links.Close()
	return err
}

// URI returns the connection string of the members themselves, past all fronts.
func (o *Own) URI() string { return o.deployment.URI() }

// Direct returns a connection string with the members' own addresses. It is of use only at the start, because the members name
// each other by their links.
func (o *Own) Direct() string {
	var addresses []string
	for _, m := range o.members {
		addresses = append(addresses, m.Backend.Address)
	}
	return "mongodb://" + strings.Join(addresses, ",") + "/?replicaSet=" + o.name
}

// Version returns the server's version.
func (o *Own) Version() string { return o.deployment.Version() }

// Failed is closed when a member ends without being killed; Err then says why.
func (o *Own) Failed() <-chan struct{} { return o.deployment.Failed() }

// Err returns why the members failed.
func (o *Own) Err() error { return o.deployment.Err() }

// Action is something that happens to the process of a member.
type Action string

// The actions on a member.
const (
	Kill    Action = "kill"    // SIGKILL
	Restart Action = "restart" // on the same data; it is killed first where it runs
	Pause   Action = "pause"   // SIGSTOP
	Resume  Action = "resume"  // SIGCONT
)

// Check returns why the action makes no sense.
func (a Action) Check() error {
	switch a {
	case Kill, Restart, Pause, Resume:
		return nil
	default:
		return fmt.Errorf("%q is unknown; give %q, %q, %q or %q", string(a), Kill, Restart, Pause, Resume)
	}
}

// Process does something to the process of a member that the lab started.
func (s *Set) Process(ctx context.Context, member int, action Action) error {
	if err := action.Check(); err != nil {
		return err
	}
	if s.own == nil {
		return ErrNotOwn
	}
	processes := s.own.deployment.Members()
	if member < 0 || member >= len(processes) {
		return fmt.Errorf("member %d: %w; they are numbered from 0 to %d", member, ErrNoMember, len(processes)-1)
	}
	process := processes[member]
	switch action {
	case Kill:
		process.Kill()
		return nil
	case Restart:
		return process.Restart(ctx)
	case Pause:
		return process.Pause()
	default:
		return process.Resume()
	}
}

// Partition silences everything between these members and the others, and heals all other ways between members, for that time,
// where it is more than 0. Without members it heals all.
func (s *Set) Partition(members []int, duration time.Duration) error {
	if s.own == nil {
		return ErrNotOwn
	}
	return s.own.links.Partition(members, duration)
}

// SetLinkFault replaces what is wrong with the way from one member to another.
func (s *Set) SetLinkFault(from, to int, f fault.Fault, duration time.Duration) error {
	if s.own == nil {
		return ErrNotOwn
	}
	return s.own.links.SetFault(from, to, f, duration)
}

// LinkFaults returns the faults of the links between the members, by from and to; nil for members that the lab did not start.
func (s *Set) LinkFaults() [][]fault.Fault {
	if s.own == nil {
		return nil
	}
	return s.own.links.Faults()
}
