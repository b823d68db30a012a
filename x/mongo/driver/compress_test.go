package driver

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
)

// marking is a compressor that replaces every message.
type marking struct{}

func (marking) CompressWireMessage(_, dst []byte) ([]byte, error) {
	return append(dst, "compressed"...), nil
}

// TestCompressedCommands is about which commands are compressed: none that the server has to understand before it knows the
// compressor, or that has a secret, whose length compression would tell.
func TestCompressedCommands(t *testing.T) {
	tests := []struct {
		command    string
		compressor mnet.Compressor
		want       string
	}{
		{"find", marking{}, "compressed"},
		{"find", nil, "plain"},
		{"saslStart", marking{}, "plain"},
		{"createUser", marking{}, "plain"},
	}
	for _, tt := range tests {
		wm := []byte("plain")
		message, err := Operation{}.compress(&mnet.Connection{Compressor: tt.compressor}, tt.command, &wm)
		require.NoError(t, err)
		assert.Equal(t, tt.want, string(*message), tt.command)
	}
}

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
