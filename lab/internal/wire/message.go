// Package wire reads and writes the messages of the MongoDB wire protocol: OP_MSG, also in an OP_COMPRESSED, and a connection's first
// hello, which may be an OP_QUERY, answered by an OP_REPLY. The driver's own functions read and write the fields.
package wire

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"

	"mongofork/lab/internal/bsondoc"
)

const (
	// maxMessageSize is a server's maxMessageSizeBytes.
	maxMessageSize = 48_000_000

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

// Message is a command or a reply. Its documents alias the buffer from which it was decoded.
type Message struct {
	RequestID  int32
	ResponseTo int32
	// Legacy is whether the command came in an OP_QUERY, and whether the reply is written as an OP_REPLY.
	Legacy bool
	// Compressor is what it is compressed with; 0 for nothing.
	Compressor wiremessage.CompressorID

	Flags MsgFlags
	Body  bson.Raw
	// Sequences are array fields of the command that were sent beside its body, with their section types.
	Sequences []byte
}

// HasFlag reports whether the message has that flag.
func (m *Message) HasFlag(flag MsgFlags) bool { return m.Flags&flag != 0 }

// Whole returns the command with the documents that were sent beside it.
func (m *Message) Whole() bson.Raw {
	if len(m.Sequences) == 0 {
		return m.Body
	}
	return bsondoc.Rebuild(m.Body, nil, func(dst []byte) []byte {
		for rest := m.Sequences; len(rest) > 0; {
			var name string
			var documents []bsoncore.Document
			name, documents, rest, _ = wiremessage.ReadMsgSectionDocumentSequence(rest[1:])
			array := bsoncore.NewArrayBuilder()
			for _, doc := range documents {
				array.AppendDocument(doc)
			}
			dst = bsoncore.AppendArrayElement(dst, name, array.Build())
		}
		return dst
	})
}

// Read reads the next message of a stream.
func Read(r io.Reader) (*Message, error) {
	var head [headerSize]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size, _, _, _, _, _ := wiremessage.ReadHeader(head[:])
	if size < headerSize || size > maxMessageSize {
		return nil, fmt.Errorf("%w: %d bytes are not between %d and %d", ErrMalformed, size, headerSize, maxMessageSize)
	}
	b := append(make([]byte, 0, size), head[:]...)[:size]
	_, err := io.ReadFull(r, b[headerSize:])
	if err == io.EOF && size > headerSize {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	return Decode(b)
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
		kind, rest, ok := wiremessage.ReadMsgSectionType(content)
		if ok && kind == wiremessage.SingleDocument {
			m.Body, rest, ok = readDocument(rest)
		} else if ok {
			_, _, rest, ok = wiremessage.ReadMsgSectionDocumentSequence(rest)
			m.Sequences = append(m.Sequences, content[:len(content)-len(rest)]...)
		}
		if !ok {
			return false
		}
		content = rest
	}
	return m.Body != nil
}

// decodeQuery reads the command after the flags, the namespace, numberToSkip and numberToReturn. Only commands are supported; like
// those of an OP_MSG, it then has the database within.
func (m *Message) decodeQuery(content []byte) (ok bool) {
	m.Legacy = true
	if _, content, ok = bsoncore.ReadInt32(content); !ok {
		return false
	}
	namespace, content, ok := bsoncore.ReadKey(content)
	database, isCommand := strings.CutSuffix(namespace, ".$cmd")
	if !ok || !isCommand {
		return false
	}
	if _, content, ok = bsoncore.ReadInt64(content); !ok {
		return false
	}
	body, _, ok := readDocument(content)
	if !ok || body.Validate() != nil {
		return false
	}
	m.Body = bsondoc.Rebuild(body, nil, func(dst []byte) []byte { return bsoncore.AppendStringElement(dst, "$db", database) })
	return true
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
	if len(b) > maxMessageSize {
		return fmt.Errorf("%w: %d bytes exceed %d", ErrMalformed, len(b), maxMessageSize)
	}
	_, err := w.Write(b)
	return err
}

func (m *Message) encode() []byte {
	op := wiremessage.OpMsg
	if m.Legacy {
		op = wiremessage.OpReply
	}
	start, dst := wiremessage.AppendHeaderStart(make([]byte, 0, len(m.Body)+128), m.RequestID, m.ResponseTo, op)
	if m.Legacy {
		const awaitCapable = 1 << 3 // set in every OP_REPLY
		dst = bsoncore.AppendInt32(dst, awaitCapable)
		dst = wiremessage.AppendReplyCursorID(dst, 0)
		dst = wiremessage.AppendReplyStartingFrom(dst, 0)
		dst = wiremessage.AppendReplyNumberReturned(dst, 1)
		dst = append(dst, m.Body...)
	} else {
		dst = wiremessage.AppendMsgFlags(dst, m.Flags)
		dst = append(wiremessage.AppendMsgSectionType(dst, wiremessage.SingleDocument), m.Body...)
		dst = append(dst, m.Sequences...)
	}
	return bsoncore.UpdateLength(dst, start, int32(min(len(dst), math.MaxInt32))-start)
}
