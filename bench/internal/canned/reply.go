package canned

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/tools/fakeserver"
)

// hole stands in a reply where a number goes that only the request tells.
const hole = int64(0x7a7a_7a7a_7a7a_7a7a)

// reply is a reply that was encoded beforehand.
type reply struct {
	message []byte
	hole    int // where the number goes, or noHole
}

const (
	noHole     = -1
	responseTo = 8 // where a message has the number of the request that it replies to
)

// newReply encodes the reply to a request. The document has at most one hole.
func newReply(to fakeserver.Request, doc bson.D) (reply, error) {
	encoded, err := bson.Marshal(doc)
	if err != nil {
		return reply{}, fmt.Errorf("reply %v: %w", doc, err)
	}
	message := fakeserver.AppendReply(nil, to, encoded)
	pattern := binary.LittleEndian.AppendUint64(nil, uint64(hole))
	return reply{message: message, hole: bytes.Index(message, pattern)}, nil
}

// appendTo appends the reply to a request to dst. The number fills the hole, if there is one.
func (r reply) appendTo(dst []byte, request int32, number int64) []byte {
	start := len(dst)
	dst = append(dst, r.message...)
	binary.LittleEndian.PutUint32(dst[start+responseTo:], uint32(request))
	if r.hole != noHole {
		binary.LittleEndian.PutUint64(dst[start+r.hole:], uint64(number))
	}
	return dst
}
