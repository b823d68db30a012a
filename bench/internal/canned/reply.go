package canned

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// hole stands in a reply where a number goes that only the request tells.
const hole = int64(0x7a7a_7a7a_7a7a_7a7a)

// reply is a reply that was encoded beforehand.
type reply struct {
	message []byte
	hole    int // where the number goes, or noHole
}

const noHole = -1

// newReply encodes a reply to a request of that kind. The document has at most one hole.
func newReply(opcode uint32, doc bson.D) (reply, error) {
	encoded, err := bson.Marshal(doc)
	if err != nil {
		return reply{}, fmt.Errorf("reply %v: %w", doc, err)
	}
	code, prefix := uint32(opMsg), make([]byte, 5) // no flags, and a section of kind 0
	if opcode == opQuery {
		// Flags, a cursor, where it starts, and the number of documents.
		code, prefix = opReply, binary.LittleEndian.AppendUint32(make([]byte, 16, 20), 1)
	}
	message := slices.Concat(make([]byte, headerSize), prefix, encoded)
	binary.LittleEndian.PutUint32(message, uint32(len(message)))
	binary.LittleEndian.PutUint32(message[12:], code)
	pattern := binary.LittleEndian.AppendUint64(nil, uint64(hole))
	return reply{message: message, hole: bytes.Index(message, pattern)}, nil
}

// appendTo appends the reply to a request to dst. The number fills the hole, if there is one.
func (r reply) appendTo(dst []byte, request uint32, number int64) []byte {
	start := len(dst)
	dst = append(dst, r.message...)
	binary.LittleEndian.PutUint32(dst[start+8:], request)
	if r.hole != noHole {
		binary.LittleEndian.PutUint64(dst[start+r.hole:], uint64(number))
	}
	return dst
}
