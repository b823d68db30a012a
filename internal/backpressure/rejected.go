package backpressure

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/throttle"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
)

// HoldServer returns a holder of the client's policy, and of what decides which attempts to hold back from the server, or nil.
func HoldServer(policy **Policy, server address.Address, throttle *throttle.Throttle) Holder {
	return Holder{policy: policy, server: server, throttle: throttle}
}

// ThrottleOf returns the address of a server, and what decides which attempts to hold back from it. They are empty and nil if it has
// none.
func ThrottleOf(server any) (address.Address, *throttle.Throttle) {
	h := holderOf(server)
	return h.server, h.throttle
}

// NoteRejection records that a server has rejected a command or a connection of the client.
func (p *Policy) NoteRejection() {
	if !p.rejected.Load() {
		p.rejected.Store(true)
	}
}

// Rejected reports whether that has ever happened to a client with adaptiveThrottling. Without that option, and until then, there
// is nothing to hold back, and no server to prefer.
func (p *Policy) Rejected() bool {
	return p != nil && p.Throttling && p.rejected.Load()
}

// Now returns the time, once there is something to hold back, and before that the zero time, as nothing else is worth a look at a clock.
func (p *Policy) Now() time.Time {
	if !p.Rejected() {
		return time.Time{}
	}
	return p.Clock.Now()
}
