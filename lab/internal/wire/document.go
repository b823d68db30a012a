package wire

import (
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

const (
	// MaxDepth is the largest nesting depth of documents and arrays, as in servers.
	MaxDepth = 200

	lengthSize   = 4
	objectIDSize = 12
)

var errTruncated = errors.New("an element is of an unknown type or does not fit its document")

// ValidateDocument reports whether doc is a well-formed BSON document, including everything nested in it.
//
// bson.Raw.Validate is unsuitable for untrusted input: it follows any depth of nesting, and a stack overflow ends the process.
func ValidateDocument(doc []byte) error { return validateDocument(doc, 1) }

func validateDocument(doc []byte, depth int) error {
	if depth > MaxDepth {
		return fmt.Errorf("nested deeper than %d", MaxDepth)
	}
	length, rest, _ := bsoncore.ReadLength(doc)
	if len(rest) == 0 || int(length) != len(doc) {
		return errors.New("a document's length does not match its bytes")
	}
	if rest[len(rest)-1] != 0 {
		return errors.New("a document does not end with a zero")
	}
	for rest = rest[:len(rest)-1]; len(rest) > 0; {
		t := bsoncore.Type(rest[0])
		_, afterKey, hasKey := bsoncore.ReadKeyBytes(rest[1:])
		value, afterValue, ok := readValue(afterKey, t)
		if !hasKey || !ok {
			return errTruncated
		}
		if err := validateValue(t, value.Data, depth); err != nil {
			return err
		}
		rest = afterValue
	}
	return nil
}

// readValue is bsoncore.ReadValue, which in the untouched v2.5.0 panics at lengths near the largest int32.
func readValue(b []byte, t bsoncore.Type) (value bsoncore.Value, rest []byte, ok bool) {
	switch t {
	case bsoncore.TypeBinary, bsoncore.TypeDBPointer, bsoncore.TypeJavaScript, bsoncore.TypeString, bsoncore.TypeSymbol:
		if length, _, ok := bsoncore.ReadLength(b); !ok || int(length) > len(b) {
			return value, nil, false
		}
	}
	return bsoncore.ReadValue(b, t)
}

// validateValue validates the inside of a value of the right size.
func validateValue(t bsoncore.Type, value []byte, depth int) error {
	switch t {
	case bsoncore.TypeEmbeddedDocument, bsoncore.TypeArray:
		return validateDocument(value, depth+1)
	case bsoncore.TypeCodeWithScope:
		return validateCodeWithScope(value, depth)
	case bsoncore.TypeString, bsoncore.TypeJavaScript, bsoncore.TypeSymbol:
		return validateString(value)
	case bsoncore.TypeDBPointer:
		return validateString(value[:len(value)-objectIDSize])
	case bsoncore.TypeBoolean:
		if value[0] > 1 {
			return fmt.Errorf("a boolean is %d", value[0])
		}
	}
	return nil
}

func validateString(value []byte) error {
	if len(value) == lengthSize || value[len(value)-1] != 0 {
		return errors.New("a string does not end with a zero")
	}
	return nil
}

func validateCodeWithScope(value []byte, depth int) error {
	_, rest, _ := bsoncore.ReadLength(value)
	code, scope, ok := readValue(rest, bsoncore.TypeJavaScript)
	if !ok {
		return errTruncated
	}
	if err := validateString(code.Data); err != nil {
		return err
	}
	return validateDocument(scope, depth+1)
}
