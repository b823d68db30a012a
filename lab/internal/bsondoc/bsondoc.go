// Package bsondoc reads and changes BSON documents like a server. Its arguments have to be valid documents.
package bsondoc

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// Has reports whether the document has the field.
func Has(doc bson.Raw, key string) bool {
	_, err := doc.LookupErr(key)
	return err == nil
}

// FirstKey returns the name of the first field, which is a command's name; empty for an empty document.
func FirstKey(doc bson.Raw) string {
	element, err := doc.IndexErr(0)
	if err != nil {
		return ""
	}
	return element.Key()
}

// IsTrue reports whether a value is true or a number other than 0, without its fraction: servers accept either.
func IsTrue(value bson.RawValue) bool {
	if b, ok := value.BooleanOK(); ok {
		return b
	}
	n, ok := value.AsInt64OK()
	return ok && n != 0
}

// Succeeded reports whether a reply says that the command as a whole succeeded.
func Succeeded(reply bson.Raw) bool { return IsTrue(reply.Lookup("ok")) }

// D returns the document of some keys, each before its value.
func D(keysAndValues ...any) (doc bson.D) {
	for i := 0; i < len(keysAndValues); i += 2 {
		doc = append(doc, bson.E{Key: keysAndValues[i].(string), Value: keysAndValues[i+1]})
	}
	return doc
}

// Marshal encodes what always can be encoded.
func Marshal(doc any) bson.Raw {
	raw, err := bson.Marshal(doc)
	if err != nil {
		panic(err)
	}
	return raw
}

// With returns the document with these fields, which replace those of the same names, at its end.
func With(doc bson.Raw, elements ...bson.E) bson.Raw {
	names := make([]string, len(elements))
	for i, element := range elements {
		names[i] = element.Key
	}
	return Rebuild(doc, names, Marshal(bson.D(elements)))
}

// Rebuild returns the document without the named fields, followed by those of more, unless nil. It decodes no values, so it is cheap
// enough for every message.
func Rebuild(doc bson.Raw, without []string, more bson.Raw) bson.Raw {
	start, dst := bsoncore.AppendDocumentStart(make([]byte, 0, len(doc)+len(more)))
	elements, _ := doc.Elements()
	for _, element := range elements {
		if !slices.Contains(without, element.Key()) {
			dst = append(dst, element...)
		}
	}
	if more != nil {
		dst = append(dst, more[4:len(more)-1]...)
	}
	dst, _ = bsoncore.AppendDocumentEnd(dst, start)
	return dst
}
