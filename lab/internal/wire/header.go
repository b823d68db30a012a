// Package wire reads and writes the messages of the MongoDB wire protocol: OP_MSG, OP_COMPRESSED, and the OP_QUERY and OP_REPLY
// of a connection's first hello. Every accepted message is completely valid, so users need not check again; an accepted
// uncompressed message is written again byte for byte.
package wire

import (
	"encoding/binary"
	"fmt"
)

const (
	// HeaderSize is the size of a message's header in bytes.
	HeaderSize = 16

	// DefaultMaxMessageSize is a server's maxMessageSizeBytes.
	DefaultMaxMessageSize = 48_000_000
)

// OpCode tells what a message is.
type OpCode int32

// The operations that this package knows.
const (
	OpReply      OpCode = 1
	OpQuery      OpCode = 2004
	OpCompressed OpCode = 2012
	OpMsg        OpCode = 2013
)

// String returns the operation's name as the protocol has it.
func (op OpCode) String() string {
	switch op {
	case OpReply:
		return "OP_REPLY"
	case OpQuery:
		return "OP_QUERY"
	case OpCompressed:
		return "OP_COMPRESSED"
	case OpMsg:
		return "OP_MSG"
	default:
		return fmt.Sprintf("opcode %d", int32(op))
	}
}

type header struct {
	length     int32
	requestID  int32
	responseTo int32
	opCode     OpCode
}

// parseHeader reads the header that b begins with; b has at least HeaderSize bytes.
func parseHeader(b []byte) header {
	return header{
		length:     int32(binary.LittleEndian.Uint32(b)),
		requestID:  int32(binary.LittleEndian.Uint32(b[4:])),
		responseTo: int32(binary.LittleEndian.Uint32(b[8:])),
		opCode:     OpCode(binary.LittleEndian.Uint32(b[12:])),
	}
}

func (h header) append(dst []byte) []byte {
	dst = appendInt32(dst, h.length)
	dst = appendInt32(dst, h.requestID)
	dst = appendInt32(dst, h.responseTo)
	return appendInt32(dst, int32(h.opCode))
}

func appendInt32(dst []byte, n int32) []byte {
	return binary.LittleEndian.AppendUint32(dst, uint32(n))
}

// putLength writes the length of the message that is dst from start on into its header.
func putLength(dst []byte, start int) {
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start))
}
