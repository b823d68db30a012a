package options

import "go.mongodb.org/mongo-driver/v2/event"

// ClientOptions holds the client's RetryMonitor.
//
//fork:extend it is a client option as the others
type ClientOptions struct {
	RetryMonitor *event.RetryMonitor
}

// SetRetryMonitor specifies a RetryMonitor that receives an event for each decision about a retry, and one when a retried
// operation ends. The event.RetryMonitor documentation describes the monitor and its events. There is no monitor by default.
func (c *ClientOptions) SetRetryMonitor(m *event.RetryMonitor) *ClientOptions {
	c.RetryMonitor = m

	return c
}
