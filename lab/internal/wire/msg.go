package wire

import (
	"encoding/binary"
	"hash/crc32"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// MsgFlags are the flag bits of an OP_MSG.
type MsgFlags uint32

// The flags that have a meaning. The lower 16 bits are required: a message with an unknown one is malformed. Unknown
// bits among the upper 16 are optional and kept.
const (
	ChecksumPresent MsgFlags = 1 << 0
	MoreToCome      MsgFlags = 1 << 1
	ExhaustAllowed  MsgFlags = 1 << 16

	requiredFlags = 1<<16 - 1
)

const (
	sectionBody     = 0
	sectionSequence = 1

	checksumSize = 4
)

// Sequence is a document sequence: an array field of the command that is sent beside its body.
type Sequence struct {
	Identifier string // the field's name
	Documents  []bson.Raw
}

// Msg is an OP_MSG.
type Msg struct {
	// Flags say among others whether a checksum is written; a wrong one is never read.
	Flags     MsgFlags
	Body      bson.Raw
	Sequences []Sequence

	// bodyAt is how many sequences come before the body: they may stand in any order.
	bodyAt int
}

func (*Msg) opCode() OpCode { return OpMsg }

// decodeMsg reads an OP_MSG; message is all of it, header included, for the checksum.
func decodeMsg(message []byte) (*Msg, error) {
	c := &cursor{op: OpMsg, rest: message[HeaderSize:]}
	m := &Msg{Flags: MsgFlags(c.int32("flags"))}
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

// verifyChecksum compares and cuts off the checksum, which is the last field and covers all before it.
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

// checksum returns the CRC-32C. The standard library computes the Castagnoli table once, and returns it ever after.
func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

func (m *Msg) decodeSection(c *cursor, identifiers map[string]bool) {
	switch kind := c.byte("section kind"); kind {
	case sectionBody:
		if m.Body != nil {
			c.fail(ErrSection, "two bodies")
			return
		}
		m.Body, m.bodyAt = c.document("body"), len(m.Sequences)
	case sectionSequence:
		m.decodeSequence(c, identifiers)
	default:
		c.fail(ErrSection, "kind %d", kind)
	}
}

// decodeSequence reads a sequence. identifiers are those of the previous sequences; a message may have millions.
func (m *Msg) decodeSequence(c *cursor, identifiers map[string]bool) {
	const sizeOfSize = 4
	content := c.bytes(int(c.int32("sequence size"))-sizeOfSize, "sequence")
	if c.err != nil {
		return
	}
	in := &cursor{op: OpMsg, rest: content}
	s := Sequence{Identifier: in.cstring("sequence identifier")}
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
	identifiers[s.Identifier] = true
	m.Sequences = append(m.Sequences, s)
}

// append adds the message's content to dst, in which the message begins at start with its header.
func (m *Msg) append(dst []byte, start int) []byte {
	dst = appendInt32(dst, int32(m.Flags))
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
	return append(append(dst, sectionBody), m.Body...)
}

func (s *Sequence) append(dst []byte) []byte {
	dst = append(dst, sectionSequence)
	size := len(dst)
	dst = appendInt32(dst, 0)
	dst = append(append(dst, s.Identifier...), 0)
	for _, doc := range s.Documents {
		dst = append(dst, doc...)
	}
	putLength(dst, size)
	return dst
}
