package driver

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
)

// TestRecyclable is about buffers of messages, plain and compressed ones.
func TestRecyclable(t *testing.T) {
	for _, tt := range []struct {
		length, capacity int
		want             bool
	}{
		{length: 0, capacity: 0, want: true},
		{length: 300, capacity: 1024, want: true},
		{length: 300, capacity: 1025, want: false},
		{length: 1400, capacity: 4096, want: false},
		{length: 3000, capacity: 4096, want: true},
		{length: 5_000_000, capacity: 6_000_000, want: true},
		{length: 16_780_000, capacity: 16_780_000, want: false},
	} {
		assert.Equal(t, tt.want, recyclable(make([]byte, tt.length, tt.capacity)), "%d of %d", tt.length, tt.capacity)
	}
}
