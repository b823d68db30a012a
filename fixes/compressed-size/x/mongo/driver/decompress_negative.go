//fork:base <v2.9.2

package driver

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// It fails if the announced size is negative, and if the payload yields more (snappy and zstd) or less (snappy and zlib).
//
//fork:wrap a negative size made it panic
func DecompressPayload(in []byte, opts CompressionOpts) ([]byte, error) {
	if opts.UncompressedSize < 0 && opts.Compressor != wiremessage.CompressorNoOp {
		return nil, fmt.Errorf("uncompressed size %d is negative", opts.UncompressedSize)
	}
	return upstreamDecompressPayload(in, opts)
}
