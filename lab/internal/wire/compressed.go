package wire

import (
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// Compressors returns those of the names that are supported. Zstandard's keeps channels beyond a bubble of testing/synctest.
func Compressors(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name != "snappy" && name != "zlib" })
}

// decompress reads the message in the content of an OP_COMPRESSED.
func (m *Message) decompress(content []byte) error {
	op, content, isOp := wiremessage.ReadCompressedOriginalOpCode(content)
	size, content, isSize := wiremessage.ReadCompressedUncompressedSize(content)
	compressor, content, isCompressor := wiremessage.ReadCompressedCompressorID(content)
	if !isOp || !isSize || !isCompressor || op == wiremessage.OpCompressed || size < 0 || size > maxMessageSize {
		return fmt.Errorf("%w: %v of %d bytes in %v", ErrMalformed, op, size, wiremessage.OpCompressed)
	}
	m.Compressor = compressor
	plain, err := driver.DecompressPayload(content, driver.CompressionOpts{Compressor: compressor, UncompressedSize: size})
	if err != nil {
		return fmt.Errorf("%w: %v: %w", ErrMalformed, compressor, err)
	}
	return m.decode(op, plain)
}

// compress returns the content of an OP_COMPRESSED.
func compress(op wiremessage.OpCode, content []byte, compressor wiremessage.CompressorID) ([]byte, error) {
	const zlibLevel = 1
	packed, err := driver.CompressPayload(content, driver.CompressionOpts{Compressor: compressor, ZlibLevel: zlibLevel})
	if err != nil {
		return nil, err
	}
	dst := wiremessage.AppendCompressedOriginalOpCode(nil, op)
	dst = wiremessage.AppendCompressedUncompressedSize(dst, int32(len(content)))
	dst = wiremessage.AppendCompressedCompressorID(dst, compressor)
	return append(dst, packed...), nil
}
