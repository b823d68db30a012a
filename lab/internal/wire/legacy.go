package wire

import (
	"encoding/binary"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Query is an OP_QUERY, in which clients send the first hello of a connection.
type Query struct {
	Flags          int32
	FullCollection string // "admin.$cmd" for commands of admin
	Skip           int32
	Limit          int32
	Document       bson.Raw
	Fields         bson.Raw // nil if there is no returnFieldsSelector
}

const (
	queryReservedFlag = 1 << 0
	queryKnownFlags   = 1<<8 - 1
)

func (*Query) opCode() OpCode { return OpQuery }

func decodeQuery(content []byte) (*Query, error) {
	c := &cursor{op: OpQuery, rest: content}
	q := &Query{
		Flags:          c.int32("flags"),
		FullCollection: c.cstring("fullCollectionName"),
		Skip:           c.int32("numberToSkip"),
		Limit:          c.int32("numberToReturn"),
		Document:       c.document("query"),
	}
	if q.Flags&queryReservedFlag != 0 || q.Flags&^queryKnownFlags != 0 {
		c.fail(ErrFlags, "bits %#x", uint32(q.Flags))
	}
	if c.more() {
		q.Fields = c.document("returnFieldsSelector")
	}
	c.end()
	return q, c.err
}

func (q *Query) append(dst []byte, _ int) []byte {
	dst = appendInt32(dst, q.Flags)
	dst = append(append(dst, q.FullCollection...), 0)
	dst = appendInt32(dst, q.Skip)
	dst = appendInt32(dst, q.Limit)
	return append(append(dst, q.Document...), q.Fields...)
}

// Reply is an OP_REPLY, the answer to an OP_QUERY.
type Reply struct {
	Flags        int32
	CursorID     int64
	StartingFrom int32
	Documents    []bson.Raw
}

func (*Reply) opCode() OpCode { return OpReply }

func decodeReply(content []byte) (*Reply, error) {
	c := &cursor{op: OpReply, rest: content}
	r := &Reply{
		Flags:        c.int32("responseFlags"),
		CursorID:     c.int64("cursorID"),
		StartingFrom: c.int32("startingFrom"),
	}
	count := c.int32("numberReturned")
	for c.more() {
		r.Documents = append(r.Documents, c.document("document"))
	}
	// Counted, not believed: memory is taken for documents that are there only.
	if int64(len(r.Documents)) != int64(count) {
		c.fail(ErrSize, "numberReturned is %d, there are %d documents", count, len(r.Documents))
	}
	return r, c.err
}

func (r *Reply) append(dst []byte, _ int) []byte {
	dst = appendInt32(dst, r.Flags)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(r.CursorID))
	dst = appendInt32(dst, r.StartingFrom)
	dst = appendInt32(dst, int32(len(r.Documents)))
	for _, doc := range r.Documents {
		dst = append(dst, doc...)
	}
	return dst
}

// end fails where something is left.
func (c *cursor) end() {
	if c.more() {
		c.fail(ErrSize, "%d bytes too many", len(c.rest))
	}
}
