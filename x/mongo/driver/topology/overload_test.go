package topology

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

func TestTopologyOverloadPolicy(t *testing.T) {
	tests := []struct {
		name          string
		opts          *options.ClientOptions
		reads, writes bool
	}{
		{name: "default", opts: options.Client(), reads: true, writes: true},
		{name: "retryReads off", opts: options.Client().SetRetryReads(false), reads: false, writes: true},
		{name: "retryWrites off", opts: options.Client().SetRetryWrites(false), reads: true, writes: false},
	}
	for _, tt := range tests {
		tt := tt
		t.Run(tt.name, func(t *testing.T) {
			policy := newTopology(t, tt.opts).cfg.overload.Policy
			assert.Equal(t, tt.reads, policy.RetryReads)
			assert.Equal(t, tt.writes, policy.RetryWrites)

			jitter := policy.Jitter()
			assert.True(t, jitter >= 0 && jitter < 1, "jitter %v", jitter)
		})
	}
}
