package wire

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"

	"github.com/klauspost/compress/snappy"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// fastestZstd is the cheapest level of zstd.
const fastestZstd = 1

// Compression is a message's compression.
type Compression int8

// The compressors. All but Uncompressed travel as OP_COMPRESSED, Noop with unchanged bytes.
const (
	Uncompressed Compression = iota
	Noop
	Snappy
	Zlib
	Zstd
)

// String returns the compressor's name in hello.
func (c Compression) String() string {
	switch c {
	case Uncompressed:
		return "uncompressed"
	case Noop:
		return "noop"
	case Snappy:
		return "snappy"
	case Zlib:
		return "zlib"
	case Zstd:
		return "zstd"
	default:
		return fmt.Sprintf("compression %d", int8(c))
	}
}

// compressorID returns the compressor's number in an OP_COMPRESSED, where noop is 0.
func (c Compression) compressorID() wiremessage.CompressorID {
	return wiremessage.CompressorID(c - Noop)
}

// mostOf returns the largest number of bytes that n compressed ones can become, which bounds the memory: 25 bytes could announce
// 48 MB.
func (c Compression) mostOf(n int) int64 {
	var ratio int64
	switch c {
	case Snappy:
		ratio = 22 // a copy of 64 bytes takes 3
	case Zlib:
		ratio = 258 * 8 / 2 // a copy of 258 bytes takes 2 bits
	case Zstd:
		ratio = 128 << 10 / 4 // a block of 128 KiB that repeats one byte takes 4
	default:
		ratio = 1
	}
	return ratio * int64(n)
}

// decodeCompressed reads an OP_COMPRESSED.
func (c *Codec) decodeCompressed(b []byte) (*Message, error) {
	_, requestID, responseTo, _, content, _ := wiremessage.ReadHeader(b)
	in := &cursor{op: wiremessage.OpCompressed, rest: content}
	op := read(in, "originalOpcode", wiremessage.ReadCompressedOriginalOpCode)
	size := int(read(in, "uncompressedSize", wiremessage.ReadCompressedUncompressedSize))
	id := read(in, "compressorId", wiremessage.ReadCompressedCompressorID)
	switch {
	case in.err != nil:
	case op == wiremessage.OpCompressed:
		in.fail(ErrOpCode, "compressed twice")
	case size < 0 || size > c.maxSize-HeaderSize:
		in.fail(ErrSize, "an uncompressedSize of %d is not between 0 and %d", size, c.maxSize-HeaderSize)
	case id > wiremessage.CompressorZstd:
		in.fail(ErrCompression, "compressor %d is unknown", id)
	}
	if in.err != nil {
		return nil, in.err
	}
	compression := Noop + Compression(id)
	if most := compression.mostOf(len(in.rest)); int64(size) > most {
		return nil, malformed(wiremessage.OpCompressed, ErrSize, "uncompressedSize is %d, %v makes at most %d of %d bytes",
			size, compression, most, len(in.rest))
	}
	// The uncompressed message, which a checksum covers.
	plain := make([]byte, 0, HeaderSize+size)
	plain = wiremessage.AppendHeader(plain, int32(HeaderSize+size), requestID, responseTo, op)
	plain, err := c.decompress(compression, plain, in.rest, size)
	if err != nil {
		return nil, malformed(wiremessage.OpCompressed, ErrCompression, "%v: %v", compression, err)
	}
	if got := len(plain) - HeaderSize; got != size {
		return nil, malformed(wiremessage.OpCompressed, ErrSize, "uncompressedSize is %d, %v gives %d bytes", size, compression, got)
	}
	m, err := decodePlain(plain)
	if err != nil {
		return nil, err
	}
	m.Compression = compression
	return m, nil
}

// decompress appends at most size+1 bytes to dst, which has room for size: one too many shows that there are more.
func (c *Codec) decompress(compression Compression, dst, src []byte, size int) ([]byte, error) {
	switch compression {
	case Snappy:
		return decompressSnappy(dst, src, size)
	case Zlib:
		return decompressZlib(dst, src, size)
	case Zstd:
		return c.decoder.DecodeAll(src, dst) // never beyond the capacity
	default:
		return append(dst, src[:min(len(src), size+1)]...), nil
	}
}

func decompressSnappy(dst, src []byte, size int) ([]byte, error) {
	got, err := snappy.DecodedLen(src)
	if err != nil {
		return nil, err
	}
	if got != size {
		return nil, fmt.Errorf("%d bytes where %d were announced", got, size)
	}
	if _, err := snappy.Decode(dst[len(dst):cap(dst)], src); err != nil {
		return nil, err
	}
	return dst[:len(dst)+size], nil
}

func decompressZlib(dst, src []byte, size int) ([]byte, error) {
	r, err := zlib.NewReader(bytes.NewReader(src))
	if err != nil {
		return nil, err
	}
	n, err := io.ReadFull(r, dst[len(dst):cap(dst)])
	dst = dst[:len(dst)+n]
	if n < size {
		return dst, err
	}
	// The checksum is verified at the end of the data.
	var beyond [1]byte
	switch _, err := io.ReadFull(r, beyond[:]); err {
	case io.EOF:
		return dst, nil
	case nil:
		return append(dst, beyond[0]), nil
	default:
		return nil, err
	}
}

func (c *Codec) appendCompressed(dst []byte, m *Message) ([]byte, error) {
	plain := m.appendPlain(nil)
	if len(plain) > c.maxSize {
		return nil, malformed(m.Content.opCode(), ErrSize, "%d bytes exceed %d", len(plain), c.maxSize)
	}
	options := driver.CompressionOpts{
		Compressor: m.Compression.compressorID(), ZlibLevel: wiremessage.DefaultZlibLevel, ZstdLevel: fastestZstd,
	}
	payload, err := driver.CompressPayload(plain[HeaderSize:], options)
	if err != nil {
		return nil, malformed(wiremessage.OpCompressed, ErrCompression, "%v", err)
	}
	start, dst := wiremessage.AppendHeaderStart(dst, m.RequestID, m.ResponseTo, wiremessage.OpCompressed)
	dst = wiremessage.AppendCompressedOriginalOpCode(dst, m.Content.opCode())
	dst = wiremessage.AppendCompressedUncompressedSize(dst, int32(len(plain)-HeaderSize))
	dst = wiremessage.AppendCompressedCompressorID(dst, options.Compressor)
	dst = append(dst, payload...)
	return bsoncore.UpdateLength(dst, start, int32(len(dst))-start), nil
}
