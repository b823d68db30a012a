package options

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
)

func TestRetryMonitor(t *testing.T) {
	first, second := new(event.RetryMonitor), new(event.RetryMonitor)

	tests := []struct {
		name string
		opts *ClientOptions
		want *event.RetryMonitor
	}{
		{"default", Client(), nil},
		{"set", Client().SetRetryMonitor(first), first},
		{"the later of two", Client().SetRetryMonitor(first).SetRetryMonitor(second), second},
		{"unset", Client().SetRetryMonitor(first).SetRetryMonitor(nil), nil},
		{"the later of merged options", MergeClientOptions(Client().SetRetryMonitor(first), Client().SetRetryMonitor(second)), second},
		{"merged options that lack it", MergeClientOptions(Client().SetRetryMonitor(first), Client()), first},
	}
	for _, tt := range tests {
		tt := tt
		t.Run(tt.name, func(t *testing.T) {
			assert.True(t, tt.want == tt.opts.RetryMonitor, "got %p, want %p", tt.opts.RetryMonitor, tt.want)
		})
	}
}
