package wire

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// The compressors that are supported. Zstandard's keeps channels beyond a bubble of testing/synctest.
const (
	Snappy = "snappy"
	ZLib   = "zlib"
)

// Compressors returns those of the names that are supported.
func Compressors(names []string) (supported []string) {
	for _, name := range names {
		if name == Snappy || name == ZLib {
			supported = append(supported, name)
		}
	}
	return supported
}

// decodeCompressed reads the message in an OP_COMPRESSED.
func decodeCompressed(header, content []byte) (*Message, error) {
	const zlibLevel = -1
	_, id, responseTo, _, _, _ := wiremessage.ReadHeader(header)
	op, content, isOp := wiremessage.ReadCompressedOriginalOpCode(content)
	size, content, isSize := wiremessage.ReadCompressedUncompressedSize(content)
	compressor, content, isCompressor := wiremessage.ReadCompressedCompressorID(content)
	if !isOp || !isSize || !isCompressor || op == wiremessage.OpCompressed || size < 0 || size > maxMessageSize {
		return nil, fmt.Errorf("%w: %v of %d bytes in %v", ErrMalformed, op, size, wiremessage.OpCompressed)
	}
	plain, err := driver.DecompressPayload(content, driver.CompressionOpts{Compressor: compressor, ZlibLevel: zlibLevel,
		UncompressedSize: size})
	if err != nil {
		return nil, fmt.Errorf("%w: %v: %w", ErrMalformed, compressor, err)
	}
	start, b := wiremessage.AppendHeaderStart(nil, id, responseTo, op)
	b = append(b, plain...)
	m, err := Decode(bsoncore.UpdateLength(b, start, int32(len(b))))
	if err == nil {
		m.Compressor = compressor
	}
	return m, err
}

// compressed returns an encoded message as an OP_COMPRESSED.
func compressed(b []byte, compressor wiremessage.CompressorID) ([]byte, error) {
	const zlibLevel = 1
	_, id, responseTo, op, content, _ := wiremessage.ReadHeader(b)
	packed, err := driver.CompressPayload(content, driver.CompressionOpts{Compressor: compressor, ZlibLevel: zlibLevel})
	if err != nil {
		return nil, err
	}
	start, dst := wiremessage.AppendHeaderStart(nil, id, responseTo, wiremessage.OpCompressed)
	dst = wiremessage.AppendCompressedOriginalOpCode(dst, op)
	dst = wiremessage.AppendCompressedUncompressedSize(dst, int32(len(content)))
	dst = wiremessage.AppendCompressedCompressorID(dst, compressor)
	dst = append(dst, packed...)
	return bsoncore.UpdateLength(dst, start, int32(len(dst))), nil
}
