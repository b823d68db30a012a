package sim

import "time"

// server works off one queue at a constant rate. It rejects a request when the work that is queued exceeds its limit.
// Finding that out is work as well, done in turn: rejections that come faster than they can be written delay each other and
// leave nothing for requests, which is how retries hold a server down.
type server struct {
	rejection time.Duration // the work of a rejection
	queue     time.Duration // the longest backlog that is admitted to
	busyUntil time.Duration
}

// receive takes a request that would need so much work. It returns when the reply is sent, and whether the request was
// admitted.
func (s *server) receive(now, work time.Duration) (replied time.Duration, admitted bool) {
	start := max(now, s.busyUntil)
	if admitted = start-now <= s.queue; !admitted {
		work = s.rejection
	}
	s.busyUntil = start + work
	return s.busyUntil, admitted
}
