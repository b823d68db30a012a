package topology

import (
	"context"
	"errors"
	"math"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// TestUncompressedSize is about messages of 25 bytes and of less, before and after the server has said how long messages may be.
func TestUncompressedSize(t *testing.T) {
	t.Parallel()
	const header = 16
	tests := []struct {
		max  uint32 // 0 before hello
		size int32
		ok   bool
	}{
		{max: 0, size: 0, ok: true},
		{max: 0, size: int32(defaultMaxMessageSize) - header, ok: true},
		{max: 0, size: int32(defaultMaxMessageSize) - header + 1, ok: false},
		{max: 0, size: math.MaxInt32, ok: false},
		{max: 0, size: math.MaxInt32 - header, ok: false},
		{max: 0, size: math.MaxInt32 - header + 1, ok: false},
		{max: 1000, size: 1000 - header, ok: true},
		{max: 1000, size: 1000 - header + 1, ok: false},
		{max: math.MaxInt32, size: math.MaxInt32 - header, ok: true},
		{max: math.MaxInt32, size: math.MaxInt32 - header + 1, ok: false},
		{max: 0, size: -1, ok: true}, // which the decompression refuses
		{max: 0, size: math.MinInt32, ok: true},
	}
	for _, tt := range tests {
		idx, wm := wiremessage.AppendHeaderStart(nil, 1, 2, wiremessage.OpCompressed)
		wm = wiremessage.AppendCompressedOriginalOpCode(wm, wiremessage.OpMsg)
		wm = wiremessage.AppendCompressedUncompressedSize(wm, tt.size)
		wm = wiremessage.AppendCompressedCompressorID(wm, wiremessage.CompressorZLib)
		wm = bsoncore.UpdateLength(wm, idx, int32(len(wm)))

		conn, server := piped(t)
		conn.desc.MaxMessageSize = tt.max
		go func() { _, _ = server.Write(wm) }()
		got, err := conn.readWireMessage(context.Background())
		if tt.ok {
			require.NoError(t, err, tt)
			assert.Equal(t, wm, got, tt)
			continue
		}
		assert.True(t, errors.Is(err, errResponseTooLarge), "%+v: %v", tt, err)
		assert.Contains(t, err.Error(), "compressed message", tt)
		assert.Equal(t, connDisconnected, conn.state, "%+v: nothing more can be read from it", tt)
	}
}
