package driver

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// FuzzDecompress decompresses bytes, which may say that they become up to 64 KiB.
func FuzzDecompress(f *testing.F) {
	payload := []byte("a text that is compressed, a text that is compressed")
	for _, id := range []wiremessage.CompressorID{
		wiremessage.CompressorNoOp, wiremessage.CompressorSnappy, wiremessage.CompressorZLib, wiremessage.CompressorZstd,
	} {
		in, err := CompressPayload(payload, CompressionOpts{
			Compressor: id, ZlibLevel: wiremessage.DefaultZlibLevel, ZstdLevel: wiremessage.DefaultZstdLevel,
		})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(byte(id), int32(len(payload)), in)
		f.Add(byte(id), int32(-1), in)
	}
	f.Fuzz(func(t *testing.T, id byte, size int32, in []byte) {
		size %= 1 << 16
		compressor := wiremessage.CompressorID(id)
		out, err := DecompressPayload(in, CompressionOpts{Compressor: compressor, UncompressedSize: size})
		if err == nil && compressor != wiremessage.CompressorNoOp && size < 0 {
			t.Fatalf("%d bytes, but %d were announced", len(out), size)
		}
	})
}
