package proxy

import (
	"context"
	"sync"
	"time"
)

// settleTime is the time that the backend has to finish a command whose client went away.
const settleTime = 5 * time.Second

// Sessions makes the commands of a logical session that have a transaction number take turns at the backend, across all fronts
// and connections. The zero value is ready for use; it is safe for concurrent use.
//
// A mongod checks out a session for one command at a time, so a retry waits for the previous attempt, whose connection may be
// lost, and finds its result. A backend without this does the write of both.
type Sessions struct {
	mu    sync.Mutex
	turns map[string]*turn
}

// turn is held while something is in held. It is forgotten with its last user.
type turn struct {
	held  chan struct{}
	users int
}

// checkOut waits for a session's turn until the context ends. Check the session in after the command.
func (s *Sessions) checkOut(ctx context.Context, session string) (checkIn func(), err error) {
	t := s.join(session)
	select {
	case t.held <- struct{}{}:
		return func() {
			<-t.held
			s.leave(session)
		}, nil
	case <-ctx.Done():
		s.leave(session)
		return nil, context.Cause(ctx)
	}
}

func (s *Sessions) join(session string) *turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turns == nil {
		s.turns = make(map[string]*turn)
	}
	t := s.turns[session]
	if t == nil {
		t = &turn{held: make(chan struct{}, 1)}
		s.turns[session] = t
	}
	t.users++
	return t
}

func (s *Sessions) leave(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.turns[session]
	if t.users--; t.users == 0 {
		delete(s.turns, session)
	}
}
