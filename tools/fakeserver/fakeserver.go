// Package fakeserver implements the part of MongoDB's wire protocol that a server with made-up replies needs: it reads commands
// and frames replies, neither of them compressed. The driver's own functions read and write the fields.
package fakeserver

import (
	"errors"
	"fmt"
	"io"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// MaxMessageSize is the maxMessageSizeBytes that the server has to announce.
const MaxMessageSize = 48_000_000

const (
	headerSize      = 16
	minDocumentSize = 5 // a length and the terminator

	// Drivers use opQuery only for the first hello, so wiremessage deprecates its constant.
	opQuery wiremessage.OpCode = 2004
)

var errMalformed = errors.New("malformed message")

// Request is a command. Its bytes are valid until the next one is read into the same buffer.
type Request struct {
	ID int32
	// Legacy is whether it is an OP_QUERY, in which drivers send a connection's first hello, instead of an OP_MSG.
	Legacy bool
	// NoReply is whether the client does not wait for a reply.
	NoReply bool
	Body    bson.Raw
	// Documents is the number of documents in sequences beside the body.
	Documents int
}

// ReadRequest reads a command. It also returns the buffer, grown if necessary, for the next one. Malformed messages are an error,
// as are the reader's. The documents' lengths are checked, but not their content.
func ReadRequest(r io.Reader, buffer []byte) (Request, []byte, error) {
	if cap(buffer) < headerSize {
		buffer = make([]byte, headerSize)
	}
	if _, err := io.ReadFull(r, buffer[:headerSize]); err != nil {
		return Request{}, buffer, err
	}
	size, id, _, opcode, _, _ := wiremessage.ReadHeader(buffer[:headerSize])
	if size < headerSize || size > MaxMessageSize {
		return Request{}, buffer, fmt.Errorf("%w: %d bytes", errMalformed, size)
	}
	content := int(size) - headerSize
	if cap(buffer) < content {
		buffer = make([]byte, content)
	}
	if _, err := io.ReadFull(r, buffer[:content]); err != nil {
		return Request{}, buffer, err
	}
	request := Request{ID: id, Legacy: opcode == opQuery}
	switch opcode {
	case opQuery:
		return request, buffer, request.parseQuery(buffer[:content])
	case wiremessage.OpMsg:
		return request, buffer, request.parseMsg(buffer[:content])
	default:
		return Request{}, buffer, fmt.Errorf("%w: opcode %d", errMalformed, opcode)
	}
}

// parseQuery finds the command after the flags, the namespace, numberToSkip and numberToReturn.
func (r *Request) parseQuery(content []byte) (err error) {
	_, rest, hasFlags := bsoncore.ReadInt32(content)
	_, rest, hasNamespace := bsoncore.ReadKeyBytes(rest)
	_, rest, hasNumbers := bsoncore.ReadInt64(rest)
	if !hasFlags || !hasNamespace || !hasNumbers {
		return fmt.Errorf("%w: OP_QUERY ends early", errMalformed)
	}
	r.Body, _, err = document(rest)
	return err
}

// parseMsg finds the body, which drivers put first, and counts the documents after it.
func (r *Request) parseMsg(content []byte) (err error) {
	flags, rest, hasFlags := wiremessage.ReadMsgFlags(content)
	kind, rest, hasKind := wiremessage.ReadMsgSectionType(rest)
	if !hasFlags || !hasKind || kind != wiremessage.SingleDocument {
		return fmt.Errorf("%w: OP_MSG does not begin with a body", errMalformed)
	}
	r.NoReply = flags&wiremessage.MoreToCome != 0
	if r.Body, rest, err = document(rest); err != nil {
		return err
	}
	for len(rest) > 0 && err == nil {
		rest, err = r.countSequence(rest)
	}
	return err
}

// countSequence counts the documents of the sequence at the start of content, and returns the rest.
func (r *Request) countSequence(content []byte) ([]byte, error) {
	kind, rest, _ := wiremessage.ReadMsgSectionType(content)
	_, documents, rest, ok := wiremessage.ReadMsgSectionRawDocumentSequence(rest)
	if !ok || kind != wiremessage.DocumentSequence {
		return nil, fmt.Errorf("%w: not a sequence", errMalformed)
	}
	for ; len(documents) > 0; r.Documents++ {
		var err error
		if _, documents, err = document(documents); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// document splits off the document at the start of content.
func document(content []byte) (doc bson.Raw, rest []byte, err error) {
	found, rest, ok := bsoncore.ReadDocument(content)
	if !ok || len(found) < minDocumentSize {
		return nil, nil, fmt.Errorf("%w: document ends early", errMalformed)
	}
	return bson.Raw(found), rest, nil
}

// AppendReply appends the message that replies to a request with a document: an OP_MSG, or an OP_REPLY to an OP_QUERY.
func AppendReply(dst []byte, to Request, doc bson.Raw) []byte {
	opcode := wiremessage.OpMsg
	if to.Legacy {
		opcode = wiremessage.OpReply
	}
	start, dst := wiremessage.AppendHeaderStart(dst, 0, to.ID, opcode)
	if to.Legacy {
		dst = wiremessage.AppendReplyFlags(dst, 0)
		dst = wiremessage.AppendReplyCursorID(dst, 0)
		dst = wiremessage.AppendReplyStartingFrom(dst, 0)
		dst = wiremessage.AppendReplyNumberReturned(dst, 1)
	} else {
		dst = wiremessage.AppendMsgFlags(dst, 0)
		dst = wiremessage.AppendMsgSectionType(dst, wiremessage.SingleDocument)
	}
	dst = append(dst, doc...)
	return bsoncore.UpdateLength(dst, start, int32(len(dst))-start)
}
