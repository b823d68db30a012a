package bson

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/inmemory"
	"go.mongodb.org/mongo-driver/v2/internal/require"
)

// everyType has a value of each type, nested, and fields that decodedStruct lacks, which are skipped.
func everyType(t testing.TB) []byte {
	t.Helper()
	values := D{
		{"string", "text"}, {"int32", int32(1)}, {"int64", int64(2)}, {"double", 3.5}, {"bool", true}, {"null", nil},
		{"binary", Binary{Subtype: 2, Data: []byte{1, 2, 3}}}, {"id", ObjectID{1}}, {"date", DateTime(4)},
		{"regex", Regex{Pattern: "a.b", Options: "i"}}, {"pointer", DBPointer{DB: "db", Pointer: ObjectID{2}}},
		{"code", JavaScript("f()")}, {"symbol", Symbol("s")}, {"time", Timestamp{T: 5, I: 6}}, {"decimal", NewDecimal128(7, 8)},
		{"min", MinKey{}}, {"max", MaxKey{}}, {"undefined", Undefined{}},
		{"scoped", CodeWithScope{Code: "g()", Scope: D{{"x", 1}}}},
		{"array", A{"one", int32(2), D{{"three", 3}}}},
	}
	inner := append(D{}, values[3], values[14], values[18], values[19])
	doc, err := Marshal(append(values, E{"inner", inner}))
	require.NoError(t, err)
	return doc
}

type decodedStruct struct {
	String string
	Int64  int64
	Date   time.Time
	Regex  Regex
	Array  []any
	Value  RawValue `bson:"binary"`
	Inner  struct {
		Double  float64
		Decimal Decimal128
		Scoped  CodeWithScope
		Array   Raw
	}
}

// targets are what documents are decoded into.
var targets = map[string]func() any{
	"M":      func() any { return &M{} },
	"D":      func() any { return &D{} },
	"Raw":    func() any { return &Raw{} },
	"any":    func() any { return new(any) },
	"struct": func() any { return &decodedStruct{} },
	"field":  func() any { return &struct{ Int64 int64 }{} },
}

// decoded describes what the document is decoded to. The memory that it was in is used for something else before that.
func decoded(r io.Reader, memory []byte, target any) (string, error) {
	err := NewDecoder(NewDocumentReader(r)).Decode(target)
	for i := range memory {
		memory[i] = 0xff
	}
	return fmt.Sprintf("%#v\n%v", target, err), err
}

// lengths is a source that remembers the largest number of bytes that was wanted.
type lengths struct {
	memorySource
	largest int
}

func (l *lengths) peek(n int) ([]byte, error) {
	if n > l.largest {
		l.largest = n
	}
	return l.memorySource.peek(n)
}

func (l *lengths) streamable() bool { return false }

// wanted returns the largest number of bytes that is wanted at once. A stream allocates it, whether the bytes are there or not.
func wanted(data []byte, target any) int {
	src := &lengths{memorySource: memorySource{bufferedByteSrc{buf: data}}}
	_ = NewDecoder(&valueReader{src: src, stack: []vrState{{mode: mTopLevel}}}).Decode(target)
	return src.largest
}

func compareReaders(t *testing.T, data []byte) {
	t.Helper()
	for name, target := range targets {
		if wanted(data, target()) > 1<<20 {
			continue
		}
		streamed, err := decoded(bytes.NewReader(data), nil, target())
		if errors.Is(err, bufio.ErrBufferFull) {
			continue // only a stream has a buffer
		}
		memory := append([]byte{}, data...)
		inMemory, _ := decoded(&inmemory.Document{Bytes: memory}, memory, target())
		if address.ReplaceAllString(inMemory, "") != address.ReplaceAllString(streamed, "") {
			t.Errorf("%s of %x is\n%s\nin memory, and as a stream\n%s", name, data, inMemory, streamed)
		}
	}
}

var address = regexp.MustCompile(`\(0x[^)]*\)`) // of a pointer

// TestMemoryReaderIsLikeAStream mutates each byte of a document that has everything.
func TestMemoryReaderIsLikeAStream(t *testing.T) {
	t.Parallel()
	doc := everyType(t)
	compareReaders(t, doc)
	for i := range doc {
		compareReaders(t, doc[:i])
		for _, mutation := range []byte{0, 0x80, doc[i] + 1, doc[i] - 1} {
			mutated := append([]byte{}, doc...)
			mutated[i] = mutation
			compareReaders(t, mutated)
		}
	}
}

// TestMemoryReaderReadsOn: what follows a document is read as in a stream.
func TestMemoryReaderReadsOn(t *testing.T) {
	t.Parallel()
	doc := everyType(t)
	dec := NewDecoder(NewDocumentReader(&inmemory.Document{Bytes: append(append([]byte{}, doc...), doc...)}))
	var first, second D
	require.NoError(t, dec.Decode(&first))
	require.NoError(t, dec.Decode(&second))
	assert.Equal(t, first, second)
	assert.Equal(t, io.EOF, dec.Decode(&second))
	assert.NoError(t, iotest.TestReader(&inmemory.Document{Bytes: doc}, doc))
}

func FuzzMemoryReader(f *testing.F) {
	f.Add(everyType(f))
	f.Add([]byte{5, 0, 0, 0, 0})
	f.Fuzz(compareReaders)
}

// TestMemoryReaderHasNoLimit: a key and a regular expression may be longer than a stream's buffer.
func TestMemoryReaderHasNoLimit(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5000)
	want := D{{long, "key"}, {"regex", Regex{Pattern: long, Options: "i"}}}
	doc, err := Marshal(want)
	require.NoError(t, err)
	var got D
	require.NoError(t, NewDecoder(NewDocumentReader(&inmemory.Document{Bytes: doc})).Decode(&got))
	assert.Equal(t, want, got)
}

// TestTruncatedInMemory: a document that ends early, also beyond the first mebibyte, has the error of a stream.
func TestTruncatedInMemory(t *testing.T) {
	t.Parallel()
	const mebibyte = 1 << 20
	for _, size := range []int{5, mebibyte - 1, mebibyte, mebibyte + 3, 2 * mebibyte, 2*mebibyte + 1} {
		for _, more := range []int{0, 1, 200, 2 * mebibyte} {
			doc := make([]byte, size)
			binary.LittleEndian.PutUint32(doc, uint32(size+more))
			var got, want Raw
			wantErr := NewDecoder(NewDocumentReader(bytes.NewReader(doc))).Decode(&want)
			gotErr := NewDecoder(NewDocumentReader(&inmemory.Document{Bytes: doc})).Decode(&got)
			assert.Equal(t, wantErr, gotErr, "%d of %d bytes", size, size+more)
			assert.Equal(t, more > 0, gotErr != nil, "%d of %d bytes", size, size+more)
			assert.True(t, bytes.Equal(want, got), "%d of %d bytes", size, size+more)
		}
	}
}
