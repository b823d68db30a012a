package wire

import (
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// Message is a message of the wire protocol, decompressed.
type Message struct {
	RequestID  int32
	ResponseTo int32
	// Compression is the message's compression.
	Compression Compression
	Content     Content
}

// Content is the content of a message: *Msg, *Query or *Reply. Its documents alias the buffer from which it was decoded.
type Content interface {
	opCode() wiremessage.OpCode
	append(dst []byte, start int) []byte
}

// Document returns the command or its reply: the body of an OP_MSG, the query of an OP_QUERY, the first document of an
// OP_REPLY. It is nil for an OP_REPLY without documents.
func (m *Message) Document() bson.Raw {
	switch content := m.Content.(type) {
	case *Msg:
		return content.Body
	case *Query:
		return content.Document
	case *Reply:
		if len(content.Documents) > 0 {
			return content.Documents[0]
		}
	}
	return nil
}

// SetDocument replaces the document that Document returns, which stays unchanged. The new one has to be valid.
func (m *Message) SetDocument(doc bson.Raw) {
	switch content := m.Content.(type) {
	case *Msg:
		content.Body = doc
	case *Query:
		content.Document = doc
	case *Reply:
		content.Documents = []bson.Raw{doc}
	}
}

// HasFlag reports whether the message is an OP_MSG with that flag.
func (m *Message) HasFlag(flag MsgFlags) bool {
	msg, ok := m.Content.(*Msg)
	return ok && msg.Flags&flag != 0
}

// decodePlain reads a message that is not compressed. b is the whole message, and its header's length has been checked.
func decodePlain(b []byte) (*Message, error) {
	_, id, responseTo, op, content, _ := wiremessage.ReadHeader(b)
	m := &Message{RequestID: id, ResponseTo: responseTo}
	var err error
	switch op {
	case wiremessage.OpMsg:
		m.Content, err = decodeMsg(b)
	case opQuery:
		m.Content, err = decodeQuery(content)
	case wiremessage.OpReply:
		m.Content, err = decodeReply(content)
	default:
		err = malformed(0, ErrOpCode, "%d; OP_MSG, OP_QUERY, OP_REPLY and OP_COMPRESSED are supported", op)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (m *Message) appendPlain(dst []byte) []byte {
	start, dst := wiremessage.AppendHeaderStart(dst, m.RequestID, m.ResponseTo, m.Content.opCode())
	dst = m.Content.append(dst, int(start))
	return bsoncore.UpdateLength(dst, start, int32(len(dst))-start)
}
