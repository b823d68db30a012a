package parallel

import (
	"fmt"
	"sync"
)

// shelf keeps what the driver handed out, and looks at it again later. Each goroutine of the application has one of its own, so that they
// do not wait for each other: what waits shows fewer races.
type shelf struct {
	mu    sync.Mutex
	run   *run
	items []item
	bytes int
}

type item struct {
	what  string
	value any
	room  bool
	hash  uint64
}

// What a shelf holds before it looks at all of it.
const (
	mostItems = 2000
	mostBytes = 8 << 20
)

// keep hashes what was handed out, and overwrites the room behind it unless that is the driver's by upstream's habit.
func (s *shelf) keep(what string, value any, room bool) {
	s.run.kept.Add(1)
	if room {
		overwriteRoom(value)
	}
	one := item{what, value, room, digest(value, false)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items = append(s.items, one)
	raw, _ := value.([]byte)
	if s.bytes += len(raw); len(s.items) >= mostItems || s.bytes > mostBytes {
		s.look()
	}
}

// look compares things with what they were, and lets them go. The shelf is locked.
func (s *shelf) look() {
	for _, i := range s.items {
		if i.room {
			overwriteRoom(i.value)
		}
	}
	for _, i := range s.items {
		if digest(i.value, false) != i.hash {
			s.run.finding("handed out", "%s changed after the driver had handed it out; it is now %s", i.what, brief(i.value))
		}
	}
	s.items, s.bytes = nil, 0
}

// close looks at all that is left.
func (s *shelf) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
}

func brief(value any) string {
	text := fmt.Sprintf("%v", value)
	return text[:min(len(text), 300)]
}
