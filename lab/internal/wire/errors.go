package wire

import (
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// The kinds of malformed messages. An error of this package matches exactly one of them with errors.Is, except those of the
// stream that a message is read from.
var (
	// ErrSize is a length that does not fit the message, or exceeds the bound.
	ErrSize = errors.New("wrong size")
	// ErrOpCode is an operation that is not supported.
	ErrOpCode = errors.New("unsupported opcode")
	// ErrFlags is a required flag bit that has no meaning.
	ErrFlags = errors.New("unknown required flag")
	// ErrSection is a section of an OP_MSG that is unknown, missing or duplicated.
	ErrSection = errors.New("wrong section")
	// ErrChecksum is a CRC-32C that does not match the message.
	ErrChecksum = errors.New("wrong checksum")
	// ErrDocument is a document that is not valid BSON.
	ErrDocument = errors.New("invalid BSON")
	// ErrCompression is an unknown compressor, or data that it rejects.
	ErrCompression = errors.New("wrong compression")
)

// FormatError describes a malformed message.
type FormatError struct {
	OpCode wiremessage.OpCode // zero where the header is wrong
	Kind   error              // one of the Err values of this package
	Detail string
}

// Error names the operation, the kind of the error and its detail.
func (e *FormatError) Error() string {
	if e.OpCode == 0 {
		return fmt.Sprintf("malformed message: %v: %s", e.Kind, e.Detail)
	}
	return fmt.Sprintf("malformed %v: %v: %s", e.OpCode, e.Kind, e.Detail)
}

// Unwrap returns the kind.
func (e *FormatError) Unwrap() error { return e.Kind }

func malformed(op wiremessage.OpCode, kind error, format string, args ...any) error {
	return &FormatError{OpCode: op, Kind: kind, Detail: fmt.Sprintf(format, args...)}
}
