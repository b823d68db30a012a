package options

import "go.mongodb.org/mongo-driver/v2/event"

// ClientOptions holds the client's overload options; see their setters.
//
//fork:extend they are client options as the others
type ClientOptions struct {
	AdaptiveRetries    *bool
	AdaptiveThrottling *bool
	RetryMonitor       *event.RetryMonitor
}
