package wire

import (
	"bytes"
	"encoding/binary"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// cursor parses a message's body from the front. The first error sticks, and later reads return zero, so that a format reads as a
// list of its fields. Returned values alias the message.
type cursor struct {
	op   OpCode
	rest []byte
	err  error
}

func (c *cursor) fail(kind error, format string, args ...any) {
	if c.err == nil {
		c.err = malformed(c.op, kind, format, args...)
		c.rest = nil
	}
}

// more tells whether anything is left to read.
func (c *cursor) more() bool { return c.err == nil && len(c.rest) > 0 }

func (c *cursor) bytes(n int, what string) []byte {
	if c.err != nil {
		return nil
	}
	if n < 0 || n > len(c.rest) {
		c.fail(ErrSize, "%s takes %d bytes, %d are left", what, n, len(c.rest))
		return nil
	}
	taken := c.rest[:n:n]
	c.rest = c.rest[n:]
	return taken
}

func (c *cursor) byte(what string) byte {
	b := c.bytes(1, what)
	if c.err != nil {
		return 0
	}
	return b[0]
}

func (c *cursor) int32(what string) int32 {
	b := c.bytes(4, what)
	if c.err != nil {
		return 0
	}
	return int32(binary.LittleEndian.Uint32(b))
}

func (c *cursor) int64(what string) int64 {
	b := c.bytes(8, what)
	if c.err != nil {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(b))
}

func (c *cursor) cstring(what string) string {
	if c.err != nil {
		return ""
	}
	end := bytes.IndexByte(c.rest, 0)
	if end < 0 {
		c.fail(ErrString, "%s has no end", what)
		return ""
	}
	return string(c.bytes(end+1, what)[:end])
}

func (c *cursor) document(what string) bson.Raw {
	if c.err != nil {
		return nil
	}
	if len(c.rest) < minDocumentSize {
		c.fail(ErrSize, "%s takes at least %d bytes, %d are left", what, minDocumentSize, len(c.rest))
		return nil
	}
	doc := c.bytes(int(int32(binary.LittleEndian.Uint32(c.rest))), what)
	if c.err != nil {
		return nil
	}
	if err := ValidateDocument(doc); err != nil {
		c.fail(ErrDocument, "%s: %v", what, err)
		return nil
	}
	return bson.Raw(doc)
}
