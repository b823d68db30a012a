// Package wire reads and writes the messages of the MongoDB wire protocol: OP_MSG, OP_COMPRESSED, and the OP_QUERY and OP_REPLY
// of a connection's first hello. Every accepted message is completely valid, so users need not check again; an accepted
// uncompressed message is written again byte for byte. The driver's own functions read and write the fields.
package wire

import "go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"

const (
	// HeaderSize is the size of a message's header in bytes.
	HeaderSize = 16

	// DefaultMaxMessageSize is a server's maxMessageSizeBytes.
	DefaultMaxMessageSize = 48_000_000

	// Drivers use opQuery only for the first hello, so wiremessage deprecates its constant.
	opQuery wiremessage.OpCode = 2004
)
