package wire

import (
	"encoding/binary"
	"hash/crc32"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// MsgFlags are the flag bits of an OP_MSG.
type MsgFlags = wiremessage.MsgFlag

// The flags that have a meaning. The lower 16 bits are required: a message with an unknown one is malformed. Unknown bits among
// the upper 16 are optional and kept.
const (
	ChecksumPresent = wiremessage.ChecksumPresent
	MoreToCome      = wiremessage.MoreToCome
	ExhaustAllowed  = wiremessage.ExhaustAllowed

	requiredFlags = 1<<16 - 1
)

const checksumSize = 4

// Sequence is a document sequence: an array field of the command that is sent beside its body.
type Sequence struct {
	Identifier string // the field's name
	Documents  []bson.Raw
}

// Msg is an OP_MSG.
type Msg struct {
	// Flags say, among other things, whether a checksum is written; a wrong one is rejected when read.
	Flags     MsgFlags
	Body      bson.Raw
	Sequences []Sequence

	// bodyAt is the number of sequences before the body: they may be in any order.
	bodyAt int
}

func (*Msg) opCode() wiremessage.OpCode { return wiremessage.OpMsg }

// decodeMsg reads an OP_MSG. message is the whole message with its header, for the checksum.
func decodeMsg(message []byte) (*Msg, error) {
	c := &cursor{op: wiremessage.OpMsg, rest: message[HeaderSize:]}
	m := &Msg{Flags: read(c, "flags", wiremessage.ReadMsgFlags)}
	if unknown := m.Flags & requiredFlags &^ (ChecksumPresent | MoreToCome); unknown != 0 {
		c.fail(ErrFlags, "bits %#x", uint32(unknown))
	}
	if m.Flags&ChecksumPresent != 0 {
		c.verifyChecksum(message)
	}
	identifiers := make(map[string]bool)
	for c.more() {
		m.decodeSection(c, identifiers)
	}
	if m.Body == nil {
		c.fail(ErrSection, "no body")
	}
	return m, c.err
}

// verifyChecksum compares and removes the checksum, which is the last field and covers everything before it.
func (c *cursor) verifyChecksum(message []byte) {
	if c.err != nil {
		return
	}
	if len(c.rest) < checksumSize {
		c.fail(ErrSize, "no room for the checksum")
		return
	}
	end := len(message) - checksumSize
	c.rest = c.rest[:len(c.rest)-checksumSize]
	if got, want := binary.LittleEndian.Uint32(message[end:]), checksum(message[:end]); got != want {
		c.fail(ErrChecksum, "%08x, want %08x", got, want)
	}
}

// checksum returns the CRC-32C. The standard library computes the Castagnoli table only once.
func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

func (m *Msg) decodeSection(c *cursor, identifiers map[string]bool) {
	switch kind := read(c, "section kind", wiremessage.ReadMsgSectionType); kind {
	case wiremessage.SingleDocument:
		if m.Body != nil {
			c.fail(ErrSection, "two bodies")
			return
		}
		m.Body, m.bodyAt = c.document("body"), len(m.Sequences)
	case wiremessage.DocumentSequence:
		m.decodeSequence(c, identifiers)
	default:
		c.fail(ErrSection, "kind %d", kind)
	}
}

// decodeSequence reads a sequence. identifiers are those of the previous sequences; a message may have millions.
func (m *Msg) decodeSequence(c *cursor, identifiers map[string]bool) {
	identifier, documents, rest, ok := wiremessage.ReadMsgSectionRawDocumentSequence(c.rest)
	if !ok {
		c.fail(ErrSize, "a sequence, or its identifier, does not end within the %d bytes that are left", len(c.rest))
		return
	}
	in := &cursor{op: c.op, rest: documents}
	s := Sequence{Identifier: identifier}
	for in.more() {
		s.Documents = append(s.Documents, in.document("sequence document"))
	}
	if in.err == nil && identifiers[s.Identifier] {
		in.fail(ErrSection, "two sequences %q", s.Identifier)
	}
	if c.err = in.err; c.err != nil {
		c.rest = nil
		return
	}
	c.rest, identifiers[s.Identifier] = rest, true
	m.Sequences = append(m.Sequences, s)
}

// append adds the message's content to dst, in which the message begins at start with its header.
func (m *Msg) append(dst []byte, start int) []byte {
	dst = wiremessage.AppendMsgFlags(dst, m.Flags)
	for i := range m.Sequences {
		if i == m.bodyAt {
			dst = m.appendBody(dst)
		}
		dst = m.Sequences[i].append(dst)
	}
	if m.bodyAt >= len(m.Sequences) {
		dst = m.appendBody(dst)
	}
	if m.Flags&ChecksumPresent == 0 {
		return dst
	}
	// The checksum covers the header's length, which counts the checksum.
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start+checksumSize))
	return binary.LittleEndian.AppendUint32(dst, checksum(dst[start:]))
}

func (m *Msg) appendBody(dst []byte) []byte {
	return append(wiremessage.AppendMsgSectionType(dst, wiremessage.SingleDocument), m.Body...)
}

func (s *Sequence) append(dst []byte) []byte {
	dst = wiremessage.AppendMsgSectionType(dst, wiremessage.DocumentSequence)
	start, dst := bsoncore.ReserveLength(dst)
	dst = append(append(dst, s.Identifier...), 0)
	for _, doc := range s.Documents {
		dst = append(dst, doc...)
	}
	return bsoncore.UpdateLength(dst, start, int32(len(dst))-start)
}
