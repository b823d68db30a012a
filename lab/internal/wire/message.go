// Package wire reads and writes the messages of the MongoDB wire protocol: OP_MSG, also in an OP_COMPRESSED, and a connection's first
// hello, which may be an OP_QUERY, answered by an OP_REPLY. The driver's own functions read and write the fields.
package wire

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"

	"mongofork/lab/internal/bsondoc"
)

const (
	// maxMessageSize is a server's maxMessageSizeBytes.
	maxMessageSize = 48_000_000

	headerSize = 16
	// Drivers use opQuery only for the first hello, so wiremessage deprecates its constant.
	opQuery wiremessage.OpCode = 2004
)

// ErrMalformed is wrapped by the errors for messages that are not of the protocol, or not of the part that is supported.
var ErrMalformed = errors.New("malformed message")

// Message is a command or a reply. Its documents alias the buffer from which it was decoded.
type Message struct {
	RequestID  int32
	ResponseTo int32
	Legacy     bool                     // whether the command came in an OP_QUERY, and whether the reply is written as an OP_REPLY
	Compressor wiremessage.CompressorID // what it is compressed with; 0 for nothing

	Flags     wiremessage.MsgFlag // a checksum is not supported: drivers send none
	Body      bson.Raw
	Sequences []byte // array fields of the command that were sent beside its body, with their section types
}

// Whole returns the command with the documents that were sent beside it.
func (m *Message) Whole() bson.Raw {
	if len(m.Sequences) == 0 {
		return m.Body
	}
	sequences := bsoncore.NewDocumentBuilder()
	for rest := m.Sequences; len(rest) > 0; {
		var name string
		var documents []bsoncore.Document
		name, documents, rest, _ = wiremessage.ReadMsgSectionDocumentSequence(rest[1:])
		array := bsoncore.NewArrayBuilder()
		for _, doc := range documents {
			array.AppendDocument(doc)
		}
		sequences.AppendArray(name, array.Build())
	}
	return bsondoc.Rebuild(m.Body, nil, bson.Raw(sequences.Build()))
}

// Compressors returns those of the names that are supported. Zstandard's keeps channels beyond a bubble of testing/synctest.
func Compressors(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name != "snappy" && name != "zlib" })
}

// Read reads the next message of a stream.
func Read(r io.Reader) (*Message, error) {
	var head [headerSize]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size, id, responseTo, op, _, _ := wiremessage.ReadHeader(head[:])
	if size < headerSize || size > maxMessageSize {
		return nil, fmt.Errorf("%w: %d bytes are not between %d and %d", ErrMalformed, size, headerSize, maxMessageSize)
	}
	content := make([]byte, size-headerSize)
	if _, err := io.ReadFull(r, content); err != nil {
		return nil, err
	}
	m := &Message{RequestID: id, ResponseTo: responseTo}
	return m, m.decode(op, content)
}

// decode reads what follows a header.
func (m *Message) decode(op wiremessage.OpCode, content []byte) error {
	ok := false
	switch op {
	case wiremessage.OpCompressed:
		return m.decompress(content)
	case wiremessage.OpMsg:
		ok = m.decodeMsg(content)
	case opQuery:
		ok = m.decodeQuery(content)
	}
	if !ok || m.Body.Validate() != nil {
		return fmt.Errorf("%w of opcode %d", ErrMalformed, op)
	}
	return nil
}

// decompress reads the message in the content of an OP_COMPRESSED.
func (m *Message) decompress(content []byte) (err error) {
	// What is missing is read as 0, which makes no message.
	op, content, _ := wiremessage.ReadCompressedOriginalOpCode(content)
	size, content, _ := wiremessage.ReadCompressedUncompressedSize(content)
	m.Compressor, content, _ = wiremessage.ReadCompressedCompressorID(content)
	if op == wiremessage.OpCompressed || size < 0 || size > maxMessageSize {
		return fmt.Errorf("%w: opcode %d of %d bytes, compressed", ErrMalformed, op, size)
	}
	content, err = driver.DecompressPayload(content, driver.CompressionOpts{Compressor: m.Compressor, UncompressedSize: size})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return m.decode(op, content)
}

func (m *Message) decodeMsg(content []byte) (ok bool) {
	m.Flags, content, ok = wiremessage.ReadMsgFlags(content)
	for ok && len(content) > 0 {
		var kind wiremessage.SectionType
		section := content
		if kind, content, ok = wiremessage.ReadMsgSectionType(content); kind == wiremessage.SingleDocument {
			m.Body, content, ok = readDocument(content)
		} else if ok {
			_, _, content, ok = wiremessage.ReadMsgSectionDocumentSequence(content)
			m.Sequences = append(m.Sequences, section[:len(section)-len(content)]...)
		}
	}
	return ok && m.Body != nil
}

// decodeQuery reads the command after the flags, the namespace, numberToSkip and numberToReturn. Only commands are supported; like
// those of an OP_MSG, it then has the database within.
func (m *Message) decodeQuery(content []byte) bool {
	m.Legacy = true
	_, content, _ = bsoncore.ReadInt32(content)
	namespace, content, _ := bsoncore.ReadKey(content)
	_, content, _ = bsoncore.ReadInt64(content)
	body, _, ok := readDocument(content)
	database, isCommand := strings.CutSuffix(namespace, ".$cmd")
	if !ok || !isCommand || body.Validate() != nil {
		return false
	}
	m.Body = bsondoc.With(body, bson.E{Key: "$db", Value: database})
	return true
}

func readDocument(content []byte) (bson.Raw, []byte, bool) {
	doc, rest, ok := bsoncore.ReadDocument(content)
	return bson.Raw(doc), rest, ok
}

// Write encodes the message and writes it in one call.
func Write(w io.Writer, m *Message) error {
	op, content := m.encode()
	if m.Compressor != 0 {
		packed, err := driver.CompressPayload(content, driver.CompressionOpts{Compressor: m.Compressor, ZlibLevel: 1})
		if err != nil {
			return err
		}
		compressed := wiremessage.AppendCompressedOriginalOpCode(nil, op)
		compressed = wiremessage.AppendCompressedUncompressedSize(compressed, int32(len(content)))
		compressed = wiremessage.AppendCompressedCompressorID(compressed, m.Compressor)
		op, content = wiremessage.OpCompressed, slices.Concat(compressed, packed)
	}
	size := headerSize + len(content)
	_, err := w.Write(append(wiremessage.AppendHeader(make([]byte, 0, size), int32(size), m.RequestID, m.ResponseTo, op), content...))
	return err
}

// encode returns what follows the header.
func (m *Message) encode() (op wiremessage.OpCode, content []byte) {
	if m.Legacy {
		const awaitCapable = 1 << 3 // set in every OP_REPLY
		content = bsoncore.AppendInt32(nil, awaitCapable)
		content = wiremessage.AppendReplyCursorID(content, 0)
		content = wiremessage.AppendReplyStartingFrom(content, 0)
		content = wiremessage.AppendReplyNumberReturned(content, 1)
		return wiremessage.OpReply, append(content, m.Body...)
	}
	content = wiremessage.AppendMsgFlags(nil, m.Flags)
	content = wiremessage.AppendMsgSectionType(content, wiremessage.SingleDocument)
	return wiremessage.OpMsg, slices.Concat(content, m.Body, m.Sequences)
}
