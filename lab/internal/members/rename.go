package members

import (
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// rename returns the document with every string that is a name replaced, at any depth: a hello has names at its top and in lists,
// the status of a replica set in the description of each member.
func rename(doc bson.Raw, names map[string]string) bson.Raw {
	return bson.Raw(renameDocument(nil, bsoncore.Document(doc), names))
}

func renameDocument(dst []byte, doc bsoncore.Document, names map[string]string) []byte {
	start, dst := bsoncore.AppendDocumentStart(dst)
	elements, _ := doc.Elements()
	for _, element := range elements {
		dst = renameElement(dst, element, names)
	}
	dst, _ = bsoncore.AppendDocumentEnd(dst, start)
	return dst
}

func renameElement(dst []byte, element bsoncore.Element, names map[string]string) []byte {
	value := element.Value()
	if text, ok := value.StringValueOK(); ok {
		if name, known := names[text]; known {
			return bsoncore.AppendStringElement(dst, element.Key(), name)
		}
	}
	if inner, ok := value.DocumentOK(); ok {
		dst = bsoncore.AppendHeader(dst, bsoncore.TypeEmbeddedDocument, element.Key())
		return renameDocument(dst, inner, names)
	}
	if inner, ok := value.ArrayOK(); ok {
		dst = bsoncore.AppendHeader(dst, bsoncore.TypeArray, element.Key())
		return renameDocument(dst, bsoncore.Document(inner), names)
	}
	return append(dst, element...)
}
