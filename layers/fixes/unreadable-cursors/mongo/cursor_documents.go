package mongo

import (
	"encoding/binary"
	"errors"
)

var errNoDocument = errors.New("malformed reply: the cursor has an element that is no document")

// hasDocument is the result of Cursor.next: whether the current value is a document. One that is none ends the cursor. An array passes for
// a document, which it has the form of.
func (c *Cursor) hasDocument() bool {
	const shortest = 5 // a length and a zero
	if len(c.Current) >= shortest && binary.LittleEndian.Uint32(c.Current) == uint32(len(c.Current)) {
		return true
	}
	c.Current, c.err = nil, errNoDocument
	return false
}
