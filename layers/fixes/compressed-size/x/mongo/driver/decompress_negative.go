//fork:base <v2.9.2

package driver

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// It fails if the announced size is negative, and if the payload yields more (snappy and zstd) or less (snappy and zlib).
//
//fork:wrap a negative size made it panic, and so did a frame for zstd that its package before v1.20.2 fails on (GO-2026-6865)
func DecompressPayload(in []byte, opts CompressionOpts) (out []byte, err error) {
	if opts.UncompressedSize < 0 && opts.Compressor != wiremessage.CompressorNoOp { // which ignores the size
		return nil, fmt.Errorf("uncompressed size %d is negative", opts.UncompressedSize)
	}
	defer func() {
		if cause := recover(); cause != nil {
			out, err = nil, fmt.Errorf("%v cannot be decompressed: %v", opts.Compressor, cause)
		}
	}()
	return upstreamDecompressPayload(in, opts)
}
