package wire

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"

	"github.com/klauspost/compress/snappy"
)

// Compression is how a message is compressed.
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
func (c Compression) compressorID() byte { return byte(c - Noop) }

// mostOf returns how many bytes n compressed ones can become. What a message announces beyond that is not worth the memory:
// 25 bytes could have 48 MB of it.
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

// decodeCompressed reads what follows the header of an OP_COMPRESSED.
func (c *Codec) decodeCompressed(h header, content []byte) (*Message, error) {
	in := &cursor{op: OpCompressed, rest: content}
	op := OpCode(in.int32("originalOpcode"))
	size := int(in.int32("uncompressedSize"))
	id := in.byte("compressorId")
	switch {
	case in.err != nil:
	case op == OpCompressed:
		in.fail(ErrOpCode, "compressed twice")
	case size < 0 || size > c.maxSize-HeaderSize:
		in.fail(ErrSize, "an uncompressedSize of %d is not between 0 and %d", size, c.maxSize-HeaderSize)
	case id > Zstd.compressorID():
		in.fail(ErrCompression, "compressor %d is unknown", id)
	}
	if in.err != nil {
		return nil, in.err
	}
	compression := Noop + Compression(id)
	if most := compression.mostOf(len(in.rest)); int64(size) > most {
		return nil, malformed(OpCompressed, ErrSize, "uncompressedSize is %d, %v makes at most %d of %d bytes",
			size, compression, most, len(in.rest))
	}
	// The uncompressed message, which a checksum covers.
	plain, err := c.decompress(compression, plainHeader(h, op, size), in.rest, size)
	if err != nil {
		return nil, malformed(OpCompressed, ErrCompression, "%v: %v", compression, err)
	}
	if got := len(plain) - HeaderSize; got != size {
		return nil, malformed(OpCompressed, ErrSize, "uncompressedSize is %d, %v gives %d bytes", size, compression, got)
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
	// The checksum is verified where the data ends.
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
	start := len(dst)
	dst = header{requestID: m.RequestID, responseTo: m.ResponseTo, opCode: OpCompressed}.append(dst)
	dst = appendInt32(dst, int32(opCodeOf(plain)))
	dst = appendInt32(dst, int32(len(plain)-HeaderSize))
	dst = append(dst, m.Compression.compressorID())
	dst, err := c.compress(m.Compression, dst, plain[HeaderSize:])
	if err != nil {
		return nil, malformed(OpCompressed, ErrCompression, "%v", err)
	}
	putLength(dst, start)
	return dst, nil
}

func (c *Codec) compress(compression Compression, dst, src []byte) ([]byte, error) {
	switch compression {
	case Noop:
		return append(dst, src...), nil
	case Snappy:
		return append(dst, snappy.Encode(nil, src)...), nil
	case Zlib:
		out := bytes.NewBuffer(dst)
		w := zlib.NewWriter(out)
		if _, err := w.Write(src); err != nil {
			return nil, err
		}
		err := w.Close()
		return out.Bytes(), err
	case Zstd:
		return c.encoder.EncodeAll(src, dst), nil
	default:
		return nil, fmt.Errorf("%v is not known", compression)
	}
}
