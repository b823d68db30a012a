// Package link stands between the members of a replica set, so that what they send each other can be lost, late or cut off while
// clients reach all of them.
package link

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"mongofork/lab/internal/fault"
	"mongofork/lab/internal/wire"
)

// Links are the links between the members of a replica set, one for each direction. Each member has a listener, whose address
// must be the member's in the set's configuration. It is safe for concurrent use.
type Links struct {
	codec     *wire.Codec
	listeners []net.Listener
	members   []string // where they listen themselves

	mu    sync.Mutex
	links [][]*way // by from and to
}

// way is the link from one member to another.
type way struct {
	fault.Switch
	mu          sync.Mutex
	connections map[*connection]struct{}
}

// New returns links without members.
func New() (*Links, error) {
	codec, err := wire.NewCodec(maxIntroduction)
	if err != nil {
		return nil, err
	}
	return &Links{codec: codec}, nil
}

// Add listens on behalf of the next member, whose own address is given, and returns the address to use for it. Add all members
// before Run.
func (l *Links) Add(member string) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("the link to member %d: %w", len(l.members), err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listeners, l.members = append(l.listeners, listener), append(l.members, member)
	l.links = append(l.links, nil)
	for from := range l.links {
		for len(l.links[from]) < len(l.members) {
			l.links[from] = append(l.links[from], &way{connections: make(map[*connection]struct{})})
		}
	}
	return listener.Addr().String(), nil
}

// Serve serves the last member added, or any other, until the context ends, and then returns nil. Nothing of it is left when it
// returns.
func (l *Links) Serve(ctx context.Context, to int) error {
	l.mu.Lock()
	listener := l.listeners[to]
	l.mu.Unlock()
	group, ctx := errgroup.WithContext(ctx)
	stop := context.AfterFunc(ctx, func() { listener.Close() })
	defer stop()
	for {
		conn, err := listener.Accept()
		if err != nil {
			if ctx.Err() == nil {
				return fmt.Errorf("the link to member %d: %w", to, err)
			}
			return group.Wait()
		}
		group.Go(func() error {
			l.serve(ctx, conn, to)
			return nil
		})
	}
}

// Close stops listening, and stops the timers.
func (l *Links) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, listener := range l.listeners {
		listener.Close()
	}
	for _, ways := range l.links {
		for _, w := range ways {
			w.Stop()
		}
	}
}

// SetFault replaces the fault of the link from one member to another. It ends by itself after that time, if it is more than 0. A
// fault of kind restart is refused, because links do not restart.
func (l *Links) SetFault(from, to int, f fault.Fault, duration time.Duration) error {
	if err := f.Check(); err != nil {
		return err
	}
	if f.Kind == fault.Restart {
		return fmt.Errorf("fault %q: a link does not restart; kill the member", f.Kind)
	}
	w := l.way(from, to)
	if w == nil {
		return fmt.Errorf("there is no link from member %d to member %d", from, to)
	}
	w.SetFor(f, duration)
	if f.Kind == fault.Reset {
		w.reset()
	}
	return nil
}

// Partition silences everything between these members and the others, both ways, and heals all other links. Without members
// it heals all.
func (l *Links) Partition(members []int, duration time.Duration) error {
	count := len(l.members)
	for _, m := range members {
		if m < 0 || m >= count {
			return fmt.Errorf("there is no member %d; they are numbered from 0 to %d", m, count-1)
		}
	}
	for from := range count {
		for to := range count {
			f := fault.Fault{Kind: fault.Off}
			if slices.Contains(members, from) != slices.Contains(members, to) {
				f.Kind = fault.Silent
			}
			l.way(from, to).SetFor(f, duration)
		}
	}
	return nil
}

// Faults returns the links' faults, by from and to.
func (l *Links) Faults() [][]fault.Fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	var faults [][]fault.Fault
	for _, ways := range l.links {
		var row []fault.Fault
		for _, w := range ways {
			row = append(row, w.Current())
		}
		faults = append(faults, row)
	}
	return faults
}

// way returns nil if there is none.
func (l *Links) way(from, to int) *way {
	l.mu.Lock()
	defer l.mu.Unlock()
	if from < 0 || from >= len(l.links) || to < 0 || to >= len(l.links) {
		return nil
	}
	return l.links[from][to]
}
