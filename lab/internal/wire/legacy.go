package wire

import (
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
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

func (*Query) opCode() wiremessage.OpCode { return opQuery }

func decodeQuery(content []byte) (*Query, error) {
	c := &cursor{op: opQuery, rest: content}
	q := &Query{
		Flags:          read(c, "flags", bsoncore.ReadInt32),
		FullCollection: read(c, "fullCollectionName", bsoncore.ReadKey),
		Skip:           read(c, "numberToSkip", bsoncore.ReadInt32),
		Limit:          read(c, "numberToReturn", bsoncore.ReadInt32),
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
	dst = bsoncore.AppendInt32(dst, q.Flags)
	dst = wiremessage.AppendQueryFullCollectionName(dst, q.FullCollection)
	dst = wiremessage.AppendQueryNumberToSkip(dst, q.Skip)
	dst = wiremessage.AppendQueryNumberToReturn(dst, q.Limit)
	return append(append(dst, q.Document...), q.Fields...)
}

// Reply is an OP_REPLY, the answer to an OP_QUERY.
type Reply struct {
	Flags        int32
	CursorID     int64
	StartingFrom int32
	Documents    []bson.Raw
}

func (*Reply) opCode() wiremessage.OpCode { return wiremessage.OpReply }

func decodeReply(content []byte) (*Reply, error) {
	c := &cursor{op: wiremessage.OpReply, rest: content}
	r := &Reply{
		Flags:        read(c, "responseFlags", bsoncore.ReadInt32),
		CursorID:     read(c, "cursorID", wiremessage.ReadReplyCursorID),
		StartingFrom: read(c, "startingFrom", wiremessage.ReadReplyStartingFrom),
	}
	count := read(c, "numberReturned", wiremessage.ReadReplyNumberReturned)
	for c.more() {
		r.Documents = append(r.Documents, c.document("document"))
	}
	// The number is not trusted: only documents that are there take memory.
	if int64(len(r.Documents)) != int64(count) {
		c.fail(ErrSize, "numberReturned is %d, there are %d documents", count, len(r.Documents))
	}
	return r, c.err
}

func (r *Reply) append(dst []byte, _ int) []byte {
	dst = bsoncore.AppendInt32(dst, r.Flags)
	dst = wiremessage.AppendReplyCursorID(dst, r.CursorID)
	dst = wiremessage.AppendReplyStartingFrom(dst, r.StartingFrom)
	dst = wiremessage.AppendReplyNumberReturned(dst, int32(len(r.Documents)))
	for _, doc := range r.Documents {
		dst = append(dst, doc...)
	}
	return dst
}
