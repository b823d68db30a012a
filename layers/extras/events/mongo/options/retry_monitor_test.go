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
		{name: "default", opts: Client(), want: nil},
		{name: "set", opts: Client().SetRetryMonitor(first), want: first},
		{name: "the later of two", opts: Client().SetRetryMonitor(first).SetRetryMonitor(second), want: second},
		{name: "unset", opts: Client().SetRetryMonitor(first).SetRetryMonitor(nil), want: nil},
		{name: "the later of merged options",
			opts: MergeClientOptions(Client().SetRetryMonitor(first), Client().SetRetryMonitor(second)), want: second},
		{name: "merged options that lack it", opts: MergeClientOptions(Client().SetRetryMonitor(first), Client()), want: first},
	}
	for _, tt := range tests {
		tt := tt
		t.Run(tt.name, func(t *testing.T) {
			assert.True(t, tt.want == tt.opts.RetryMonitor, "got %p, want %p", tt.opts.RetryMonitor, tt.want)
		})
	}
}
