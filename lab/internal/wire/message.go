// Package wire reads and writes the messages of the MongoDB wire protocol: OP_MSG, also in an OP_COMPRESSED, and the OP_QUERY and
// OP_REPLY of a connection's first hello. The driver's own functions read and write the fields.
package wire

import (
	"errors"
	"fmt"
	"io"
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

const (
	// DefaultMaxMessageSize is a server's maxMessageSizeBytes.
	DefaultMaxMessageSize = 48_000_000

	headerSize   = 16
	checksumSize = 4
	// Drivers use opQuery only for the first hello, so wiremessage deprecates its constant.
	opQuery wiremessage.OpCode = 2004
)

// ErrMalformed is wrapped by the errors for messages that are not of the protocol, or not of the part that is supported.
var ErrMalformed = errors.New("malformed message")

// MsgFlags are the flag bits of an OP_MSG.
type MsgFlags = wiremessage.MsgFlag

// The flags that have a meaning. A checksum is neither verified nor written.
const (
	ChecksumPresent = wiremessage.ChecksumPresent
	MoreToCome      = wiremessage.MoreToCome
	ExhaustAllowed  = wiremessage.ExhaustAllowed
)

// Sequence is a document sequence: an array field of the command that is sent beside its body.
type Sequence struct {
	Identifier string // the field's name
	Documents  []bson.Raw
}

// Message is a command or a reply. Its documents alias the buffer from which it was decoded.
type Message struct {
	RequestID  int32
	ResponseTo int32
	// Legacy is whether it is an OP_QUERY, of which Namespace is the collection, or an OP_REPLY, which has none.
	Legacy    bool
	Namespace string

	// Compressor is what it is compressed with; 0 for nothing.
	Compressor wiremessage.CompressorID

	Flags     MsgFlags
	Body      bson.Raw
	Sequences []Sequence
}

// HasFlag reports whether the message has that flag.
func (m *Message) HasFlag(flag MsgFlags) bool { return m.Flags&flag != 0 }

// Read reads the next message of a stream.
func Read(r io.Reader) (*Message, error) {
	b, err := ReadBytes(r)
	if err != nil {
		return nil, err
	}
	return Decode(b)
}

// ReadBytes reads the next message as Read does, but only looks at its size.
func ReadBytes(r io.Reader) ([]byte, error) {
	var head [headerSize]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size, _, _, _, _, _ := wiremessage.ReadHeader(head[:])
	if size < headerSize || size > DefaultMaxMessageSize {
		return nil, fmt.Errorf("%w: %d bytes are not between %d and %d", ErrMalformed, size, headerSize, DefaultMaxMessageSize)
	}
	b := make([]byte, size)
	copy(b, head[:])
	_, err := io.ReadFull(r, b[headerSize:])
	if err == io.EOF && size > headerSize {
		err = io.ErrUnexpectedEOF
	}
	return b, err
}

// Decode reads a whole message.
func Decode(b []byte) (*Message, error) {
	size, id, responseTo, op, content, ok := wiremessage.ReadHeader(b)
	if !ok || int(size) != len(b) {
		return nil, fmt.Errorf("%w: %d bytes do not have the header's size, %d", ErrMalformed, len(b), size)
	}
	m := &Message{RequestID: id, ResponseTo: responseTo}
	switch op {
	case wiremessage.OpCompressed:
		return decodeCompressed(b[:headerSize], content)
	case wiremessage.OpMsg:
		ok = m.decodeMsg(content)
	case opQuery:
		ok = m.decodeQuery(content)
	case wiremessage.OpReply:
		ok = m.decodeReply(content)
	default:
		return nil, fmt.Errorf("%w: opcode %d is not supported", ErrMalformed, op)
	}
	if !ok {
		return nil, fmt.Errorf("%w: %v", ErrMalformed, op)
	}
	if err := m.Body.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %v: %w", ErrMalformed, op, err)
	}
	return m, nil
}

func (m *Message) decodeMsg(content []byte) (ok bool) {
	if m.Flags, content, ok = wiremessage.ReadMsgFlags(content); !ok {
		return false
	}
	if m.HasFlag(ChecksumPresent) {
		if len(content) < checksumSize {
			return false
		}
		m.Flags &^= ChecksumPresent
		content = content[:len(content)-checksumSize]
	}
	for len(content) > 0 {
		var kind wiremessage.SectionType
		if kind, content, ok = wiremessage.ReadMsgSectionType(content); !ok {
			return false
		}
		if kind == wiremessage.SingleDocument {
			m.Body, content, ok = readDocument(content)
		} else {
			content, ok = m.decodeSequence(content)
		}
		if !ok {
			return false
		}
	}
	return m.Body != nil
}

func (m *Message) decodeSequence(content []byte) (rest []byte, ok bool) {
	s := Sequence{}
	var documents []byte
	if s.Identifier, documents, rest, ok = wiremessage.ReadMsgSectionRawDocumentSequence(content); !ok {
		return nil, false
	}
	for len(documents) > 0 {
		var doc bson.Raw
		if doc, documents, ok = readDocument(documents); !ok {
			return nil, false
		}
		s.Documents = append(s.Documents, doc)
	}
	m.Sequences = append(m.Sequences, s)
	return rest, true
}

// decodeQuery finds the command after the flags, the namespace, numberToSkip and numberToReturn.
func (m *Message) decodeQuery(content []byte) (ok bool) {
	m.Legacy = true
	if _, content, ok = bsoncore.ReadInt32(content); !ok {
		return false
	}
	if m.Namespace, content, ok = bsoncore.ReadKey(content); !ok {
		return false
	}
	if _, content, ok = bsoncore.ReadInt64(content); !ok {
		return false
	}
	m.Body, _, ok = readDocument(content)
	return ok
}

// decodeReply finds the one document after the flags, the cursor, startingFrom and numberReturned.
func (m *Message) decodeReply(content []byte) (ok bool) {
	const fields = 4 + 8 + 4 + 4
	if m.Legacy = true; len(content) < fields {
		return false
	}
	m.Body, _, ok = readDocument(content[fields:])
	return ok
}

func readDocument(content []byte) (bson.Raw, []byte, bool) {
	doc, rest, ok := bsoncore.ReadDocument(content)
	return bson.Raw(doc), rest, ok
}

// Write encodes the message and writes it in one call.
func Write(w io.Writer, m *Message) error {
	b := m.encode()
	if m.Compressor != 0 {
		var err error
		if b, err = compressed(b, m.Compressor); err != nil {
			return err
		}
	}
	if len(b) > DefaultMaxMessageSize {
		return fmt.Errorf("%w: %d bytes exceed %d", ErrMalformed, len(b), DefaultMaxMessageSize)
	}
	_, err := w.Write(b)
	return err
}

func (m *Message) encode() []byte {
	op := wiremessage.OpMsg
	switch {
	case m.Legacy && m.Namespace != "":
		op = opQuery
	case m.Legacy:
		op = wiremessage.OpReply
	}
	start, dst := wiremessage.AppendHeaderStart(make([]byte, 0, len(m.Body)+128), m.RequestID, m.ResponseTo, op)
	switch op {
	case wiremessage.OpMsg:
		dst = m.appendMsg(dst)
	case opQuery:
		dst = bsoncore.AppendInt32(dst, 0)
		dst = wiremessage.AppendQueryFullCollectionName(dst, m.Namespace)
		dst = wiremessage.AppendQueryNumberToSkip(dst, 0)
		dst = wiremessage.AppendQueryNumberToReturn(dst, -1)
		dst = append(dst, m.Body...)
	default:
		const awaitCapable = 1 << 3 // set in every OP_REPLY
		dst = bsoncore.AppendInt32(dst, awaitCapable)
		dst = wiremessage.AppendReplyCursorID(dst, 0)
		dst = wiremessage.AppendReplyStartingFrom(dst, 0)
		dst = wiremessage.AppendReplyNumberReturned(dst, 1)
		dst = append(dst, m.Body...)
	}
	return bsoncore.UpdateLength(dst, start, int32(min(len(dst), math.MaxInt32))-start)
}

func (m *Message) appendMsg(dst []byte) []byte {
	dst = wiremessage.AppendMsgFlags(dst, m.Flags)
	dst = append(wiremessage.AppendMsgSectionType(dst, wiremessage.SingleDocument), m.Body...)
	for _, s := range m.Sequences {
		dst = wiremessage.AppendMsgSectionType(dst, wiremessage.DocumentSequence)
		var start int32
		start, dst = bsoncore.ReserveLength(dst)
		dst = append(append(dst, s.Identifier...), 0)
		for _, doc := range s.Documents {
			dst = append(dst, doc...)
		}
		dst = bsoncore.UpdateLength(dst, start, int32(len(dst))-start)
	}
	return dst
}
