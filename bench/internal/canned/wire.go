package canned

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// The parts of the wire protocol that drivers use without compression.
const (
	headerSize = 16
	maxMessage = 48_000_000

	opReply = 1
	opQuery = 2004
	opMsg   = 2013

	moreToCome = 1 << 1 // flag of an OP_MSG that wants no reply
)

var errMalformed = errors.New("malformed message")

// request is a command as it was received. Its bytes are valid until the next one is read.
type request struct {
	id        uint32
	opcode    uint32
	flags     uint32
	body      bson.Raw
	documents int // in sequences beside the body
}

// readRequest reads a message into the buffer, which it returns, grown if need be.
func readRequest(r *bufio.Reader, buffer []byte) (request, []byte, error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return request{}, buffer, err
	}
	size := binary.LittleEndian.Uint32(header[:])
	if size < headerSize || size > maxMessage {
		return request{}, buffer, fmt.Errorf("%w: %d bytes", errMalformed, size)
	}
	content := int(size) - headerSize
	if cap(buffer) < content {
		buffer = make([]byte, content)
	}
	buffer = buffer[:content]
	if _, err := io.ReadFull(r, buffer); err != nil {
		return request{}, buffer, err
	}
	req := request{id: binary.LittleEndian.Uint32(header[4:]), opcode: binary.LittleEndian.Uint32(header[12:])}
	return req, buffer, req.parse(buffer)
}

func (r *request) parse(content []byte) error {
	switch r.opcode {
	case opQuery:
		return r.parseQuery(content)
	case opMsg:
		return r.parseMsg(content)
	default:
		return fmt.Errorf("%w: opcode %d", errMalformed, r.opcode)
	}
}

// parseQuery finds the command of an OP_QUERY: flags, a name that ends in zero, two numbers, and a document.
func (r *request) parseQuery(content []byte) error {
	const flags, numbers = 4, 8
	for i := flags; i < len(content); i++ {
		if content[i] != 0 {
			continue
		}
		if rest := i + 1 + numbers; rest <= len(content) {
			var err error
			r.body, _, err = document(content[rest:])
			return err
		}
	}
	return fmt.Errorf("%w: OP_QUERY ends early", errMalformed)
}

// parseMsg finds the body of an OP_MSG, which drivers put first, and counts the documents after it.
func (r *request) parseMsg(content []byte) error {
	const flags, kind = 4, 1
	if len(content) < flags+kind || content[flags] != 0 {
		return fmt.Errorf("%w: OP_MSG does not begin with a body", errMalformed)
	}
	r.flags = binary.LittleEndian.Uint32(content)
	var err error
	var rest []byte
	if r.body, rest, err = document(content[flags+kind:]); err != nil {
		return err
	}
	for len(rest) > 0 && err == nil {
		rest, err = r.countSequence(rest)
	}
	return err
}

// countSequence counts the documents of the sequence that content begins with. It returns what follows it.
func (r *request) countSequence(content []byte) ([]byte, error) {
	const kind, size = 1, 4
	if len(content) < kind+size || content[0] != 1 {
		return nil, fmt.Errorf("%w: not a sequence", errMalformed)
	}
	end := kind + uint64(binary.LittleEndian.Uint32(content[kind:]))
	if end < kind+size || end > uint64(len(content)) {
		return nil, fmt.Errorf("%w: sequence of %d bytes", errMalformed, end)
	}
	documents := content[kind+size : end]
	for i, b := range documents {
		if b == 0 {
			documents = documents[i+1:]
			break
		}
	}
	for len(documents) > 0 {
		var err error
		if _, documents, err = document(documents); err != nil {
			return nil, err
		}
		r.documents++
	}
	return content[end:], nil
}

// document splits off the document that content begins with.
func document(content []byte) (doc bson.Raw, rest []byte, err error) {
	const size = 4
	if len(content) >= size {
		if n := uint64(binary.LittleEndian.Uint32(content)); n > size && n <= uint64(len(content)) {
			return bson.Raw(content[:n]), content[n:], nil
		}
	}
	return nil, nil, fmt.Errorf("%w: document ends early", errMalformed)
}
