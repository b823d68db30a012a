package wire

import "go.mongodb.org/mongo-driver/v2/bson"

// Message is a message of the wire protocol, decompressed.
type Message struct {
	RequestID  int32
	ResponseTo int32
	// Compression is how the message travels.
	Compression Compression
	Content     Content
}

// Content is the content of a message: *Msg, *Query or *Reply. Its documents alias the buffer from which it was decoded.
type Content interface {
	opCode() OpCode
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

// SetDocument replaces what Document returns, which is not touched. The document has to be valid.
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

// HasFlag tells whether the message is an OP_MSG with that flag.
func (m *Message) HasFlag(flag MsgFlags) bool {
	msg, ok := m.Content.(*Msg)
	return ok && msg.Flags&flag != 0
}

// decodePlain reads a message that is not compressed; b is all of it, and its header's length has been checked.
func decodePlain(b []byte) (*Message, error) {
	h := parseHeader(b)
	m := &Message{RequestID: h.requestID, ResponseTo: h.responseTo}
	var err error
	switch h.opCode {
	case OpMsg:
		m.Content, err = decodeMsg(b)
	case OpQuery:
		m.Content, err = decodeQuery(b[HeaderSize:])
	case OpReply:
		m.Content, err = decodeReply(b[HeaderSize:])
	default:
		err = malformed(h.opCode, ErrOpCode, "OP_MSG, OP_QUERY, OP_REPLY and OP_COMPRESSED are")
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (m *Message) appendPlain(dst []byte) []byte {
	start := len(dst)
	dst = header{requestID: m.RequestID, responseTo: m.ResponseTo, opCode: m.Content.opCode()}.append(dst)
	dst = m.Content.append(dst, start)
	putLength(dst, start)
	return dst
}
