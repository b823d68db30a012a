package backpressure

import (
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/throttle"
)

// Policy has the client's option adaptiveThrottling.
//
//fork:extend it belongs to the client
type Policy struct {
	// Throttling is which attempts are withheld from servers that would most likely reject them.
	Throttling throttle.Scope

	rejected atomic.Bool
}

// NoteRejection records that a server has rejected a command or a connection of the client.
func (p *Policy) NoteRejection() {
	p.rejected.Store(true)
}

// Rejected reports whether that has ever happened to a client whose option adaptiveThrottling is not false. Until then there is
// nothing to withhold, and no server to prefer.
func (p *Policy) Rejected() bool {
	return p != nil && p.Throttling != throttle.Nothing && p.rejected.Load()
}

// Now returns the time once there is something to withhold, and the zero time until then, to save a clock read.
func (p *Policy) Now() time.Time {
	if !p.Rejected() {
		return time.Time{}
	}
	return p.Clock.Now()
}
