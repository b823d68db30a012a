package bsoncore_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// maxDepth bounds how deep the fuzz test follows nested documents itself.
const maxDepth = 16

// FuzzReadDocument reads bytes as a document and as an array in every way that needs no panic to say that it cannot.
func FuzzReadDocument(f *testing.F) {
	for _, doc := range seedDocuments() {
		f.Add([]byte(doc))
		f.Add([]byte(doc[:len(doc)-1]))
		f.Add(append([]byte(doc), doc...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		doc := bsoncore.Document(data)
		valid := doc.Validate() == nil
		readElements(t, doc, 0)
		readArray(data)
		_ = doc.String()
		_, _ = doc.StringN(len(data) / 2)
		_, _ = doc.LookupErr("a", "0", "b")
		_, _ = doc.IndexErr(1)

		first, rem, ok := bsoncore.ReadDocument(data)
		if ok && len(first)+len(rem) != len(data) {
			t.Fatalf("ReadDocument made %d and %d bytes of %d", len(first), len(rem), len(data))
		}
		read, err := bsoncore.NewDocumentFromReader(bytes.NewReader(data))
		if err == nil && !bytes.Equal(read, data[:len(read)]) {
			t.Fatalf("read %x of %x", read, data)
		}
		if valid {
			mustRead(t, data)
		}
	})
}

// mustRead fails for a document that Validate accepts and the readers do not.
func mustRead(t *testing.T, doc bsoncore.Document) {
	t.Helper()
	if _, err := doc.Elements(); err != nil {
		t.Fatalf("elements of a valid document: %v", err)
	}
	if _, err := doc.Values(); err != nil {
		t.Fatalf("values of a valid document: %v", err)
	}
	if len(doc) < 5 {
		t.Fatalf("a document of %d bytes is valid", len(doc))
	}
}

func readElements(t *testing.T, doc bsoncore.Document, depth int) {
	t.Helper()
	elems, _ := doc.Elements()
	for _, elem := range elems {
		_ = elem.Validate()
		_ = elem.String()
		_, _ = elem.KeyErr()
		val, err := elem.ValueErr()
		if err != nil {
			continue
		}
		readValue(t, val, depth)
	}
}

func readValue(t *testing.T, val bsoncore.Value, depth int) {
	t.Helper()
	_ = val.Validate()
	_ = val.String()
	_, _ = val.StringN(3)
	methods := reflect.ValueOf(val)
	for i := 0; i < methods.NumMethod(); i++ {
		if strings.HasSuffix(methods.Type().Method(i).Name, "OK") { // such as AsInt64OK
			methods.Method(i).Call(nil)
		}
	}
	if doc, ok := val.DocumentOK(); ok && depth < maxDepth {
		readElements(t, doc, depth+1)
	}
	if arr, ok := val.ArrayOK(); ok {
		readArray(arr)
	}
}

func readArray(arr bsoncore.Array) {
	_ = arr.Validate()
	_ = arr.String()
	_, _ = arr.StringN(5)
	_, _ = arr.Values()
	_, _ = arr.IndexErr(1)
	_, _ = bsoncore.NewArrayFromReader(bytes.NewReader(arr))
	iter := &bsoncore.Iterator{List: arr}
	_ = iter.Count()
	_, _ = iter.Documents()
	for {
		if _, err := iter.Next(); err != nil {
			return
		}
	}
}

// FuzzReadValue reads bytes as a value of each type.
func FuzzReadValue(f *testing.F) {
	for _, doc := range seedDocuments() {
		elems, _ := doc.Elements()
		for _, elem := range elems {
			val := elem.Value()
			f.Add(byte(val.Type), val.Data)
		}
	}
	f.Fuzz(func(t *testing.T, kind byte, data []byte) {
		readValue(t, bsoncore.Value{Type: bsoncore.Type(kind), Data: data}, 0)
		val, rem, ok := bsoncore.ReadValue(data, bsoncore.Type(kind))
		if ok && len(val.Data)+len(rem) != len(data) {
			t.Fatalf("ReadValue made %d and %d bytes of %d", len(val.Data), len(rem), len(data))
		}
	})
}

// seedDocuments returns a document with a value of each type, and some that are nested.
func seedDocuments() []bsoncore.Document {
	nested := bsoncore.NewDocumentBuilder().AppendInt32("b", 1).Build()
	list := bsoncore.NewArrayBuilder().AppendDocument(nested).AppendString("s").Build()
	all := bsoncore.NewDocumentBuilder().AppendDouble("double", 1.5).AppendString("string", "text \u00e9 \x01").AppendDocument("a", nested).
		AppendArray("list", list).AppendBinary("binary", 0x02, []byte{1, 2, 3}).AppendBinary("generic", 0x00, []byte{1, 2, 3}).
		AppendUndefined("undefined").AppendObjectID("oid", [12]byte{1, 2}).AppendBoolean("boolean", true).AppendDateTime("date", 1).
		AppendNull("null").AppendRegex("regex", "p", "i").AppendDBPointer("pointer", "ns", [12]byte{3}).AppendJavaScript("code", "x").
		AppendSymbol("symbol", "y").AppendCodeWithScope("scope", "z", nested).AppendInt32("int32", 1).AppendTimestamp("timestamp", 1, 2).
		AppendInt64("int64", 1).AppendDecimal128("decimal", 1, 2).AppendMinKey("min").AppendMaxKey("max").Build()
	return []bsoncore.Document{bsoncore.NewDocumentBuilder().Build(), nested, all}
}
