package wire

import (
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// Codec decodes and encodes messages. One serves any number of connections at the same time.
type Codec struct {
	maxSize int
	decoder *zstd.Decoder
}

// NewCodec returns a Codec for messages of up to maxSize bytes, compressed or not, or of DefaultMaxMessageSize if maxSize is 0.
// It rejects a size that cannot hold a header, or that a header cannot hold.
func NewCodec(maxSize int) (*Codec, error) {
	if maxSize == 0 {
		maxSize = DefaultMaxMessageSize
	}
	if maxSize < HeaderSize || int64(maxSize) > 1<<31-1 {
		return nil, fmt.Errorf("a maximum message size of %d bytes: give one from %d to %d", maxSize, HeaderSize, 1<<31-1)
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	return &Codec{maxSize: maxSize, decoder: decoder}, nil
}

// Decode reads the message in b, which has to be complete. The message aliases b unless it was compressed. The error is a
// *FormatError.
func (c *Codec) Decode(b []byte) (*Message, error) {
	length, op, err := c.header(b)
	if err != nil {
		return nil, err
	}
	if length != len(b) {
		return nil, malformed(0, ErrSize, "the header says %d bytes, there are %d", length, len(b))
	}
	if op == wiremessage.OpCompressed {
		return c.decodeCompressed(b)
	}
	return decodePlain(b)
}

// header reads the length and the operation of the message at the start of b.
func (c *Codec) header(b []byte) (length int, op wiremessage.OpCode, err error) {
	size, _, _, op, _, ok := wiremessage.ReadHeader(b)
	if !ok {
		return 0, 0, malformed(0, ErrSize, "%d bytes, a header takes %d", len(b), HeaderSize)
	}
	if size < HeaderSize || int(size) > c.maxSize {
		return 0, 0, malformed(0, ErrSize, "%d bytes are not between %d and %d", size, HeaderSize, c.maxSize)
	}
	return int(size), op, nil
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
	b, err := c.ReadBytes(r)
	if err != nil {
		return nil, err
	}
	return c.Decode(b)
}

// ReadBytes reads the next message as Read does, but only looks at its header.
func (c *Codec) ReadBytes(r io.Reader) ([]byte, error) {
	var head [HeaderSize]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	length, _, err := c.header(head[:])
	if err != nil {
		return nil, err
	}
	return readGrowing(r, head[:], length)
}

// readGrowing returns head and the bytes after it, length bytes in all. It allocates as bytes arrive: a header that promises 48
// MB costs its sender 48 MB, too.
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
