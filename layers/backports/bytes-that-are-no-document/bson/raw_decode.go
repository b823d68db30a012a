//fork:base <v2.5.1

package bson

import (
	"fmt"
	"reflect"
)

// rawDecodeValue decodes a document or an array into a Raw. Null and undefined become an empty one.
//
//fork:wrap the bytes of other values passed for a document, which whoever wrote them could choose
func rawDecodeValue(dc DecodeContext, vr ValueReader, val reflect.Value) error {
	if err := holdsDocument(vr, val); err != nil {
		return err
	}
	return upstreamRawDecodeValue(dc, vr, val)
}

// coreDocumentDecodeValue does what rawDecodeValue does for a bsoncore.Document.
//
//fork:wrap as for rawDecodeValue
func coreDocumentDecodeValue(dc DecodeContext, vr ValueReader, val reflect.Value) error {
	if err := holdsDocument(vr, val); err != nil {
		return err
	}
	return upstreamCoreDocumentDecodeValue(dc, vr, val)
}

// holdsDocument returns an error if the next value cannot be decoded into a Go value that holds a document's bytes. Type zero is
// the document as a whole.
func holdsDocument(vr ValueReader, val reflect.Value) error {
	switch t := vr.Type(); t {
	case Type(0), TypeEmbeddedDocument, TypeArray, TypeNull, TypeUndefined:
		return nil
	default:
		return fmt.Errorf("a %v is not a document: it cannot be decoded into a %s", t, val.Type())
	}
}
