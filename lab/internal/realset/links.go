package realset

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"mongofork/lab/internal/fault"
	"mongofork/lab/internal/wire"
)

const (
	// introduction bounds the time until a connection's first message.
	introduction = 30 * time.Second
	dialTimeout  = 10 * time.Second
)

// links stand between the members of a replica set, so that what they send each other can be cut off while clients reach all of
// them. Each member has a listener, whose address must be the member's in the set's configuration.
type links struct {
	ctx    context.Context
	end    context.CancelFunc
	served sync.WaitGroup
	ways   [][]fault.Switch // by from and to

	mu      sync.Mutex
	members []string // where they listen themselves
}

func newLinks(ctx context.Context, members int) *links {
	l := &links{ways: make([][]fault.Switch, members)}
	for from := range l.ways {
		l.ways[from] = make([]fault.Switch, members)
	}
	l.ctx, l.end = context.WithCancel(context.WithoutCancel(ctx))
	return l
}

// serve listens on behalf of the next member, whose own address is given, and returns the address to use for it.
func (l *links) serve(to int, address string) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	l.mu.Lock()
	l.members = append(l.members, address)
	l.mu.Unlock()
	context.AfterFunc(l.ctx, func() { listener.Close() })
	l.served.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			l.served.Go(func() { l.connect(conn, to, address) })
		}
	})
	return listener.Addr().String(), nil
}

// close ends all connections.
func (l *links) close() {
	l.end()
	l.served.Wait()
}

// connect forwards bytes to a member until either side is gone. The first message identifies the caller: members of a set with
// test commands name their own address in it. A partition does not affect other connections.
func (l *links) connect(caller net.Conn, to int, address string) {
	ctx, cancel := context.WithCancel(l.ctx)
	defer cancel()
	context.AfterFunc(ctx, func() { caller.Close() })
	if caller.SetReadDeadline(time.Now().Add(introduction)) != nil {
		return
	}
	first, err := wire.ReadBytes(caller)
	if err != nil || caller.SetReadDeadline(time.Time{}) != nil {
		return
	}
	way := &fault.Switch{}
	if from := l.sender(first); from >= 0 {
		way = &l.ways[from][to]
	}
	if way.Silence(ctx) != nil {
		return
	}
	member, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", address)
	if err != nil {
		return
	}
	context.AfterFunc(ctx, func() { member.Close() })
	if _, err := member.Write(first); err != nil {
		return
	}
	var back sync.WaitGroup
	back.Go(func() { forward(ctx, cancel, way, caller, member) })
	forward(ctx, cancel, way, member, caller)
	back.Wait()
}

// sender returns the number of the member that sent a message, or -1 for anybody else.
func (l *links) sender(first []byte) int {
	m, err := wire.Decode(first)
	if err != nil {
		return -1
	}
	host, _ := m.Body.Lookup("hostInfo").StringValueOK()
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.IndexFunc(l.members, func(address string) bool {
		return host != "" && address[strings.LastIndex(address, ":")+1:] == host[strings.LastIndex(host, ":")+1:]
	})
}

// forward forwards bytes in one direction. While the way is silent it holds them, and the end of the connection, too, like a dead
// network.
func forward(ctx context.Context, end func(), way *fault.Switch, to, from net.Conn) {
	defer end()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if way.Silence(ctx) != nil {
			return
		}
		if _, writeErr := to.Write(buffer[:n]); err != nil || writeErr != nil {
			return
		}
	}
}
