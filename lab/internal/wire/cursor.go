package wire

import (
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// cursor parses a message's body from the front. The first error sticks, and later reads return zero, so that a format reads as a
// list of its fields. Returned values alias the message.
type cursor struct {
	op   wiremessage.OpCode
	rest []byte
	err  error
}

func (c *cursor) fail(kind error, format string, args ...any) {
	if c.err == nil {
		c.err = malformed(c.op, kind, format, args...)
		c.rest = nil
	}
}

// more reports whether anything is left to read.
func (c *cursor) more() bool { return c.err == nil && len(c.rest) > 0 }

// end fails if something is left.
func (c *cursor) end() {
	if c.more() {
		c.fail(ErrSize, "%d bytes too many", len(c.rest))
	}
}

// read reads a field with one of the driver's functions.
func read[T any](c *cursor, what string, field func([]byte) (T, []byte, bool)) (value T) {
	if c.err != nil {
		return value
	}
	value, rest, ok := field(c.rest)
	if !ok {
		c.fail(ErrSize, "%s does not end within the %d bytes that are left", what, len(c.rest))
		return value
	}
	c.rest = rest
	return value
}

func (c *cursor) document(what string) bson.Raw {
	doc := read(c, what, bsoncore.ReadDocument)
	if c.err != nil {
		return nil
	}
	if err := ValidateDocument(doc); err != nil {
		c.fail(ErrDocument, "%s: %v", what, err)
		return nil
	}
	return bson.Raw(doc)
}
