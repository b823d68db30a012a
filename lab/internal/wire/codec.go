package wire

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Codec decodes and encodes messages. One serves any number of connections at the same time.
type Codec struct {
	maxSize int
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

// NewCodec returns a Codec for messages of up to maxSize bytes, compressed or not, or of DefaultMaxMessageSize when
// maxSize is 0. It takes no size that cannot hold a header, nor one that a header cannot hold.
func NewCodec(maxSize int) (*Codec, error) {
	if maxSize == 0 {
		maxSize = DefaultMaxMessageSize
	}
	if maxSize < HeaderSize || int64(maxSize) > 1<<31-1 {
		return nil, fmt.Errorf("a maximum message size of %d bytes: give one from %d to %d", maxSize, HeaderSize, 1<<31-1)
	}
	// Messages are compressed on the goroutine of their connection, so one encoder at a time per connection suffices.
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return nil, err
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	return &Codec{maxSize: maxSize, encoder: encoder, decoder: decoder}, nil
}

// Decode reads the message that b is, and has to be in full. The message aliases b unless it was compressed.
// The error is a *FormatError.
func (c *Codec) Decode(b []byte) (*Message, error) {
	if len(b) < HeaderSize {
		return nil, malformed(0, ErrSize, "%d bytes, a header takes %d", len(b), HeaderSize)
	}
	h := parseHeader(b)
	if err := c.checkLength(h); err != nil {
		return nil, err
	}
	if int(h.length) != len(b) {
		return nil, malformed(h.opCode, ErrSize, "the header says %d bytes, there are %d", h.length, len(b))
	}
	if h.opCode == OpCompressed {
		return c.decodeCompressed(h, b[HeaderSize:])
	}
	return decodePlain(b)
}

func (c *Codec) checkLength(h header) error {
	if h.length < HeaderSize || int(h.length) > c.maxSize {
		return malformed(h.opCode, ErrSize, "%d bytes are not between %d and %d", h.length, HeaderSize, c.maxSize)
	}
	return nil
}

// Append adds the encoded message to dst. The error is a *FormatError for a message that is too large.
func (c *Codec) Append(dst []byte, m *Message) ([]byte, error) {
	start := len(dst)
	if m.Compression == Uncompressed {
		dst = m.appendPlain(dst)
	} else {
		var err error
		if dst, err = c.appendCompressed(dst, m); err != nil {
			return nil, err
		}
	}
	if size := len(dst) - start; size > c.maxSize {
		return nil, malformed(m.Content.opCode(), ErrSize, "%d bytes exceed %d", size, c.maxSize)
	}
	return dst, nil
}

// Read reads the next message from a stream. The error is io.EOF at the stream's end, io.ErrUnexpectedEOF within a
// message, a *FormatError, or the stream's.
func (c *Codec) Read(r io.Reader) (*Message, error) {
	var head [HeaderSize]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	h := parseHeader(head[:])
	if err := c.checkLength(h); err != nil {
		return nil, err
	}
	b, err := readGrowing(r, head[:], int(h.length))
	if err != nil {
		return nil, err
	}
	return c.Decode(b)
}

// readGrowing returns head and what follows it, length bytes in all. It takes memory as bytes arrive: a header that
// promises 48 MB costs its sender 48 MB, too.
func readGrowing(r io.Reader, head []byte, length int) ([]byte, error) {
	const firstChunk = 64 << 10
	b := make([]byte, len(head), min(length, firstChunk))
	copy(b, head)
	for {
		filled := len(b)
		b = b[:cap(b)]
		if _, err := io.ReadFull(r, b[filled:]); err != nil {
			if err == io.EOF && len(b) > filled {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if len(b) == length {
			return b, nil
		}
		grown := make([]byte, len(b), min(length, 4*len(b)))
		copy(grown, b)
		b = grown
	}
}

// Write encodes the message and writes it in one call.
func (c *Codec) Write(w io.Writer, m *Message) error {
	b, err := c.Append(make([]byte, 0, 512), m)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// plainHeader is the header of the message that an OP_COMPRESSED of header h has in it.
func plainHeader(h header, op OpCode, size int) []byte {
	b := make([]byte, 0, HeaderSize+size)
	return header{length: int32(HeaderSize + size), requestID: h.requestID, responseTo: h.responseTo, opCode: op}.append(b)
}

// opCodeOf returns the operation of an encoded message.
func opCodeOf(b []byte) OpCode { return OpCode(binary.LittleEndian.Uint32(b[12:])) }
