package link

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/fault"
)

const (
	// introduction bounds the time until a connection's first message.
	introduction = 30 * time.Second
	dialTimeout  = 10 * time.Second
	// A first message is a hello, and small.
	maxIntroduction = 1 << 20
)

// connection is a connection from a member, or any other client, to a member through the lab, with both its ends.
type connection struct {
	caller, member net.Conn
	end            context.CancelFunc
}

// serve forwards bytes until either side is gone. The first message identifies the caller: members of a set with test commands
// name their own address in it. The faults between members do not affect other connections.
func (l *Links) serve(ctx context.Context, caller net.Conn, to int) {
	defer caller.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { caller.Close() })
	defer stop()
	first, err := l.introductionOf(caller)
	if err != nil {
		return
	}
	w := l.way(l.sender(first), to)
	if w == nil {
		w = &way{connections: make(map[*connection]struct{})}
	}
	if w.Current().Kind == fault.Reset {
		reset(caller)
		return
	}
	if w.While(ctx, fault.Silent) != nil {
		return
	}
	member, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", l.members[to])
	if err != nil {
		return
	}
	defer member.Close()
	if _, err := member.Write(first); err != nil {
		return
	}
	w.pass(ctx, &connection{caller: caller, member: member, end: cancel})
}

// introductionOf reads the first message's bytes.
func (l *Links) introductionOf(caller net.Conn) ([]byte, error) {
	if err := caller.SetReadDeadline(time.Now().Add(introduction)); err != nil {
		return nil, err
	}
	message, err := l.codec.ReadBytes(caller)
	if err != nil {
		return nil, err
	}
	return message, caller.SetReadDeadline(time.Time{})
}

// sender returns the number of the member that sent a message, or -1 for anybody else.
func (l *Links) sender(first []byte) int {
	m, err := l.codec.Decode(first)
	if err != nil {
		return -1
	}
	doc := m.Document()
	if doc == nil || !bsondoc.Has(doc, "hostInfo") {
		return -1
	}
	text, _ := doc.Lookup("hostInfo").StringValueOK()
	port := text[strings.LastIndex(text, ":")+1:]
	return slices.IndexFunc(l.members, func(address string) bool {
		_, own, err := net.SplitHostPort(address)
		return err == nil && own == port
	})
}

// pass forwards bytes in both directions until either side or the context ends.
func (w *way) pass(ctx context.Context, c *connection) {
	w.mu.Lock()
	w.connections[c] = struct{}{}
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.connections, c)
	}()
	stop := context.AfterFunc(ctx, func() {
		c.caller.Close()
		c.member.Close()
	})
	defer stop()
	var both sync.WaitGroup
	both.Go(func() { w.copy(ctx, c, c.member, c.caller) })
	both.Go(func() { w.copy(ctx, c, c.caller, c.member) })
	both.Wait()
}

// copy forwards bytes in one direction. While the link is silent it holds them, and the end of the connection, too, like a dead
// network.
func (w *way) copy(ctx context.Context, c *connection, to, from net.Conn) {
	defer c.end()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if w.While(ctx, fault.Silent) != nil {
			return
		}
		if f := w.Current(); f.Kind == fault.Slow && (clock.System{}).Wait(ctx, f.Delay) != nil {
			return
		}
		if _, writeErr := to.Write(buffer[:n]); err != nil || writeErr != nil {
			return
		}
	}
}

// reset resets all connections.
func (w *way) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.connections {
		reset(c.caller)
		reset(c.member)
		c.end()
	}
}

func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // fails where the other side has ended the connection already
	}
	conn.Close()
}
