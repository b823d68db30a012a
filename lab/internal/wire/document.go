package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
)

const (
	// MaxDepth is how deep documents and arrays may be nested; servers take no more either.
	MaxDepth = 200

	minDocumentSize = 5 // a length and the terminator
	minStringSize   = 5 // the same
)

var errTruncated = errors.New("a value does not fit its document")

// ValidateDocument reports whether doc is a well-formed BSON document, including everything nested in it.
//
// bson.Raw.Validate is unsuitable for untrusted input: it follows any depth of nesting, and a stack overflow ends the process.
func ValidateDocument(doc []byte) error { return validateDocument(doc, 1) }

func validateDocument(doc []byte, depth int) error {
	if depth > MaxDepth {
		return fmt.Errorf("nested deeper than %d", MaxDepth)
	}
	if len(doc) < minDocumentSize || int64(binary.LittleEndian.Uint32(doc)) != int64(len(doc)) {
		return errors.New("a document's length does not match its bytes")
	}
	if doc[len(doc)-1] != 0 {
		return errors.New("a document does not end with a zero")
	}
	elements := doc[4 : len(doc)-1]
	for len(elements) > 0 {
		keyEnd := bytes.IndexByte(elements[1:], 0)
		if keyEnd < 0 {
			return errors.New("a key has no end")
		}
		value := elements[1+keyEnd+1:]
		size, err := valueSize(bson.Type(elements[0]), value)
		if err == nil {
			err = validateValue(bson.Type(elements[0]), value[:size], depth)
		}
		if err != nil {
			return err
		}
		elements = value[size:]
	}
	return nil
}

// valueSize returns how many of b's bytes the value of type t takes.
func valueSize(t bson.Type, b []byte) (int, error) {
	size := 0
	switch t {
	case bson.TypeNull, bson.TypeUndefined, bson.TypeMinKey, bson.TypeMaxKey:
	case bson.TypeBoolean:
		size = 1
	case bson.TypeInt32:
		size = 4
	case bson.TypeDouble, bson.TypeInt64, bson.TypeDateTime, bson.TypeTimestamp:
		size = 8
	case bson.TypeObjectID:
		size = 12
	case bson.TypeDecimal128:
		size = 16
	case bson.TypeRegex:
		size = regexSize(b)
	default:
		return prefixedSize(t, b)
	}
	if size < 0 || size > len(b) {
		return 0, errTruncated
	}
	return size, nil
}

// prefixedSize is valueSize for the types that begin with a length.
func prefixedSize(t bson.Type, b []byte) (int, error) {
	extra := 0 // bytes not counted in the length
	switch t {
	case bson.TypeEmbeddedDocument, bson.TypeArray, bson.TypeCodeWithScope:
	case bson.TypeString, bson.TypeJavaScript, bson.TypeSymbol:
		extra = 4
	case bson.TypeBinary:
		extra = 4 + 1
	case bson.TypeDBPointer:
		extra = 4 + 12
	default:
		return 0, fmt.Errorf("type 0x%02x is unknown", byte(t))
	}
	if len(b) < 4 {
		return 0, errTruncated
	}
	// In 64 bits, for the sum of a length near the largest int32 must not wrap around.
	size := int64(int32(binary.LittleEndian.Uint32(b)))
	if size < 0 || size+int64(extra) > int64(len(b)) {
		return 0, errTruncated
	}
	return int(size) + extra, nil
}

// regexSize returns the size of two C strings, or -1 where they have no end.
func regexSize(b []byte) int {
	pattern := bytes.IndexByte(b, 0) + 1
	if pattern == 0 {
		return -1
	}
	flags := bytes.IndexByte(b[pattern:], 0) + 1
	if flags == 0 {
		return -1
	}
	return pattern + flags
}

// validateValue validates the inside of a value of known size.
func validateValue(t bson.Type, value []byte, depth int) error {
	switch t {
	case bson.TypeEmbeddedDocument, bson.TypeArray:
		return validateDocument(value, depth+1)
	case bson.TypeCodeWithScope:
		return validateCodeWithScope(value, depth)
	case bson.TypeString, bson.TypeJavaScript, bson.TypeSymbol:
		return validateString(value)
	case bson.TypeDBPointer:
		return validateString(value[:len(value)-12])
	case bson.TypeBoolean:
		if value[0] > 1 {
			return fmt.Errorf("a boolean is %d", value[0])
		}
	}
	return nil
}

func validateString(value []byte) error {
	if len(value) < minStringSize || value[len(value)-1] != 0 {
		return errors.New("a string does not end with a zero")
	}
	return nil
}

func validateCodeWithScope(value []byte, depth int) error {
	if len(value) < 4+minStringSize+minDocumentSize {
		return errTruncated
	}
	code := value[4:]
	size, err := prefixedSize(bson.TypeJavaScript, code)
	if err != nil {
		return err
	}
	if err := validateString(code[:size]); err != nil {
		return err
	}
	return validateDocument(code[size:], depth+1)
}
