package canned

import (
	"bufio"
	"context"
	"net"
	"sync"

	"mongofork/tools/fakeserver"
)

// Server answers on a port of the loopback interface until it is closed.
type Server struct {
	listener net.Listener
	replies  *replies
	cursors  cursors

	mu          sync.Mutex
	connections map[net.Conn]struct{} // nil once closed
	done        sync.WaitGroup
}

// Start starts a server on a free port.
func Start(ctx context.Context) (*Server, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	replies, err := newReplies(listener.Addr().String())
	if err != nil {
		_ = listener.Close()
		return nil, err
	}
	s := &Server{
		listener: listener, replies: replies, connections: map[net.Conn]struct{}{},
		cursors: cursors{left: map[int64]int{}},
	}
	s.done.Add(1)
	go s.accept()
	return s, nil
}

// URI is the connection string of the server.
func (s *Server) URI() string {
	return "mongodb://" + s.listener.Addr().String() + "/?replicaSet=" + ReplicaSet
}

// Close closes the server and its connections, and waits for what serves them.
func (s *Server) Close() {
	_ = s.listener.Close()
	s.mu.Lock()
	for connection := range s.connections {
		_ = connection.Close()
	}
	s.connections = nil
	s.mu.Unlock()
	s.done.Wait()
}

func (s *Server) accept() {
	defer s.done.Done()
	for {
		connection, err := s.listener.Accept()
		if err != nil {
			return
		}
		if !s.add(connection) {
			_ = connection.Close()
			return
		}
		go func() {
			defer s.done.Done()
			s.serve(connection)
			s.remove(connection)
		}()
	}
}

// add records a connection. It reports false if the server is closed.
func (s *Server) add(connection net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.connections == nil {
		return false
	}
	s.connections[connection] = struct{}{}
	s.done.Add(1)
	return true
}

func (s *Server) remove(connection net.Conn) {
	_ = connection.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.connections, connection)
}

// serve answers the commands of a connection until it ends or makes no sense, which ends it.
func (s *Server) serve(connection net.Conn) {
	reader := bufio.NewReaderSize(connection, 64<<10)
	var buffer, out []byte
	for {
		var request fakeserver.Request
		var err error
		if request, buffer, err = fakeserver.ReadRequest(reader, buffer); err != nil {
			return
		}
		out = s.answer(out[:0], request)
		if request.NoReply {
			continue
		}
		if _, err := connection.Write(out); err != nil {
			return
		}
	}
}

// answer appends the reply to a request to dst.
func (s *Server) answer(dst []byte, r fakeserver.Request) []byte {
	if r.Legacy {
		return s.replies.legacyHello.appendTo(dst, r.ID, 0)
	}
	first, err := r.Body.IndexErr(0)
	if err != nil {
		return s.replies.unknown.appendTo(dst, r.ID, 0)
	}
	name := first.Key()
	switch name {
	case "find":
		if _, err := r.Body.LookupErr("batchSize"); err == nil {
			return s.replies.firstBatch.appendTo(dst, r.ID, s.cursors.open(Batches-1))
		}
	case "getMore":
		id, ok := first.Value().Int64OK()
		if last, open := s.cursors.next(id); !ok || !open {
			return s.replies.unknown.appendTo(dst, r.ID, 0)
		} else if last {
			return s.replies.lastBatch.appendTo(dst, r.ID, 0)
		}
		return s.replies.byName[name].appendTo(dst, r.ID, id)
	}
	if reply, ok := s.replies.byName[name]; ok {
		return reply.appendTo(dst, r.ID, int64(r.Documents))
	}
	return s.replies.unknown.appendTo(dst, r.ID, 0)
}

// cursors are the open cursors of a server.
type cursors struct {
	mu     sync.Mutex
	opened int64
	left   map[int64]int // batches, by cursor
}

// open opens a cursor that has so many batches left.
func (c *cursors) open(batches int) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened++
	c.left[c.opened] = batches
	return c.opened
}

// next takes a batch of a cursor, and reports whether it is the last, which closes the cursor, and whether it was open.
func (c *cursors) next(id int64) (last, open bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	left, open := c.left[id]
	if left <= 1 {
		delete(c.left, id)
		return open, open
	}
	c.left[id] = left - 1
	return false, open
}
