package driver_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"runtime"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

var realCompressors = []wiremessage.CompressorID{wiremessage.CompressorSnappy, wiremessage.CompressorZLib, wiremessage.CompressorZstd}

func compressed(t testing.TB, id wiremessage.CompressorID, payload []byte) []byte {
	t.Helper()
	in, err := driver.CompressPayload(payload, driver.CompressionOpts{
		Compressor: id, ZlibLevel: wiremessage.DefaultZlibLevel, ZstdLevel: wiremessage.DefaultZstdLevel,
	})
	require.NoError(t, err)
	return in
}

// FuzzDecompress decompresses bytes, which may say that they become up to 64 KiB.
func FuzzDecompress(f *testing.F) {
	payload := []byte("a text that is compressed, a text that is compressed")
	for _, id := range append([]wiremessage.CompressorID{wiremessage.CompressorNoOp}, realCompressors...) {
		in := compressed(f, id, payload)
		f.Add(byte(id), int32(len(payload)), in)
		f.Add(byte(id), int32(-1), in)
	}
	f.Fuzz(func(t *testing.T, id byte, size int32, in []byte) {
		size %= 1 << 16
		compressor := wiremessage.CompressorID(id)
		out, err := driver.DecompressPayload(in, driver.CompressionOpts{Compressor: compressor, UncompressedSize: size})
		if err == nil && compressor != wiremessage.CompressorNoOp && size < 0 {
			t.Fatalf("%d bytes, but %d were announced", len(out), size)
		}
	})
}

// decompress decompresses to an announced size, must fail, and returns how many bytes it allocated.
func decompress(t *testing.T, id wiremessage.CompressorID, in []byte, announced int32) uint64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := driver.DecompressPayload(in, driver.CompressionOpts{Compressor: id, UncompressedSize: announced})
	runtime.ReadMemStats(&after)
	assert.Error(t, err, "%v", id)
	return after.TotalAlloc - before.TotalAlloc
}

func TestDecompressSizes(t *testing.T) {
	t.Parallel()
	for _, id := range realCompressors {
		for _, size := range []int{0, 1, 100, 1 << 17, 1 << 20} {
			payload := make([]byte, size)
			for i := range payload {
				payload[i] = byte(i * i >> 3)
			}
			in := compressed(t, id, payload)
			out, err := driver.DecompressPayload(in, driver.CompressionOpts{Compressor: id, UncompressedSize: int32(size)})
			require.NoError(t, err, "%v %d", id, size)
			assert.True(t, bytes.Equal(payload, out), "%v %d", id, size)
			for _, wrong := range []int32{-1, -int32(size) - 1, math.MinInt32} {
				decompress(t, id, in, wrong)
			}
		}
	}
}

// TestDecompressToMoreThanAnnounced: a few kilobytes become 256 MiB, and what is allocated stays near what was announced.
func TestDecompressToMoreThanAnnounced(t *testing.T) {
	zeros := make([]byte, 256<<20)
	for _, id := range []wiremessage.CompressorID{wiremessage.CompressorSnappy, wiremessage.CompressorZstd} {
		in := compressed(t, id, zeros)
		assert.True(t, len(in) < 16<<20, "%v: %d bytes", id, len(in))
		assert.Less(t, decompress(t, id, in, 1000), uint64(64<<20), "%v", id)
	}
}

// TestDecompressAnnouncementInside is about a frame of zstd that has a size of its own, and nothing in it. A size that cannot be
// allocated would end the process.
func TestDecompressAnnouncementInside(t *testing.T) {
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0} // the magic number; a size of 8 bytes and a single segment
	frame = binary.LittleEndian.AppendUint64(frame, 512<<20)
	frame = append(frame, 1, 0, 0) // an empty block, the last
	assert.Less(t, decompress(t, wiremessage.CompressorZstd, frame, 236), uint64(64<<20))
}

// TestDecompressTwoBlocks is about a frame that makes the package zstd before v1.20.2 panic (GO-2026-6865). Its first block leaves a table
// of 2^15 states, which the second block takes for its own: the count of its only symbol, 2^15, becomes negative, so no state is written.
func TestDecompressTwoBlocks(t *testing.T) {
	block := func(last byte, table ...byte) []byte {
		content := append([]byte{2 | 1<<4, byte(len(table)+2) << 6, byte((len(table) + 2) >> 2), byte(len(table))}, table...)
		content = append(content, 1, 0) // one literal of no bits, and no sequences
		return append([]byte{last | 2<<1 | byte(len(content)<<3), byte(len(content) >> 5), 0}, content...)
	}
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 0}
	frame = append(frame, block(0, 0x1a, 0, 0, 0, 0, 0, 0xfc, 0xff, 3, 0xff, 0xff, 0xff, 0x7f)...)
	frame = append(frame, block(1, append([]byte{0x1a, 0, 0xe0, 0xff, 0x1f}, bytes.Repeat([]byte{0xff}, 21)...)...)...)
	decompress(t, wiremessage.CompressorZstd, frame, 100)
}
