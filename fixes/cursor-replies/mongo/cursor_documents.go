package mongo

import (
	"context"
	"encoding/binary"
	"errors"
)

var errNoDocument = errors.New("malformed reply: the cursor has an element that is no document")

// next makes the next document the current one, unless it is none. An array passes for a document, which it has the form of.
//
//fork:wrap the bytes of any value passed for a document
func (c *Cursor) next(ctx context.Context, nonBlocking bool) bool {
	if !c.upstreamNext(ctx, nonBlocking) {
		return false
	}
	const shortest = 5 // a length and a zero
	if len(c.Current) < shortest || binary.LittleEndian.Uint32(c.Current) != uint32(len(c.Current)) {
		c.Current, c.err = nil, errNoDocument
		return false
	}
	return true
}
