package options

import "go.mongodb.org/mongo-driver/v2/event"

// SetRetryMonitor specifies a RetryMonitor to receive an event for each decision about a retry, and one when an operation
// ends that was retried. See the event.RetryMonitor documentation for more information about the structure of the monitor
// and events that can be received. There is no monitor by default.
func (c *ClientOptions) SetRetryMonitor(m *event.RetryMonitor) *ClientOptions {
	c.RetryMonitor = m

	return c
}
