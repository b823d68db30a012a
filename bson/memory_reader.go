package bson

import (
	"bufio"
	"bytes"
	"io"

	"go.mongodb.org/mongo-driver/v2/internal/inmemory"
)

// A Document of package inmemory is read in place, without a buffer. What it is decoded into does not share its memory.
//
//fork:wrap each document that package mongo decoded, though in memory, took a buffer of 4 KB
func NewDocumentReader(r io.Reader) ValueReader {
	if d, ok := r.(*inmemory.Document); ok {
		return memoryReaderOf(d)
	}
	return upstreamNewDocumentReader(r)
}

// memoryReader is a reader of documents in memory.
type memoryReader struct {
	valueReader
	source memorySource
	frames [5]vrState
}

// memoryReaderOf returns the reader of a document, the same one for each that the Document becomes.
func memoryReaderOf(d *inmemory.Document) *valueReader {
	m, ok := d.Reader.(*memoryReader)
	if !ok {
		m = &memoryReader{}
		m.stack = m.frames[:]
		d.Reader = m
	}
	m.source = memorySource{rest: d.Bytes}
	m.src, m.frame = &m.source, 0
	m.stack = m.stack[:1]
	m.stack[0] = vrState{mode: mTopLevel}
	return &m.valueReader
}

// memorySource does for bytes in memory what streamingByteSrc does for an io.Reader, with the same errors, but without its limit of 4096
// bytes for a key and a regular expression.
type memorySource struct {
	rest   []byte
	offset int64 // of the rest
}

var _ byteSrc = &memorySource{}

// readBytes returns the next n bytes. Those of a memorySource are not copied.
//
//fork:wrap a stream's bytes have to be copied before the next are read, those in memory do not
func readBytes(src byteSrc, n int) ([]byte, error) {
	if m, ok := src.(*memorySource); ok {
		return m.next(n)
	}
	return upstreamReadBytes(src, n)
}

// next returns the next n bytes and goes beyond them.
func (m *memorySource) next(n int) ([]byte, error) {
	read := m.rest
	if n > len(read) {
		m.skip(len(read))
		if len(read) == 0 {
			return nil, io.EOF
		}
		return nil, io.ErrUnexpectedEOF
	}
	m.skip(n)
	return read[:n:n], nil
}

func (m *memorySource) skip(n int) {
	m.rest = m.rest[n:]
	m.offset += int64(n)
}

// readExact implements the byteSrc interface, as do the following methods.
func (m *memorySource) readExact(p []byte) (int, error) {
	read, err := m.next(len(p))
	return copy(p, read), err
}

func (m *memorySource) ReadByte() (byte, error) {
	if len(m.rest) == 0 {
		return 0, io.EOF
	}
	b := m.rest[0]
	m.skip(1)
	return b, nil
}

func (m *memorySource) peek(n int) ([]byte, error) {
	if n > len(m.rest) {
		return m.rest, io.EOF
	}
	return m.rest[:n], nil
}

func (m *memorySource) discard(n int) (int, error) {
	switch {
	case n < 0:
		return 0, bufio.ErrNegativeCount
	case n > len(m.rest):
		n = len(m.rest)
		m.skip(n)
		return n, io.EOF
	default:
		m.skip(n)
		return n, nil
	}
}

func (m *memorySource) readSlice(delim byte) ([]byte, error) {
	end := bytes.IndexByte(m.rest, delim)
	if end < 0 {
		m.skip(len(m.rest))
		return nil, io.EOF
	}
	return m.next(end + 1)
}

func (m *memorySource) pos() int64 { return m.offset }

func (m *memorySource) regexLength() (int32, error) {
	length := 0
	for i := 0; i < 2; i++ { // the pattern and the options
		end := bytes.IndexByte(m.rest[length:], 0)
		if end < 0 {
			return 0, io.EOF
		}
		length += end + 1
	}
	return int32(length), nil
}

// streamable implements the byteSrc interface. What follows a document in memory is read as in a stream.
func (m *memorySource) streamable() bool { return true }

// reset starts to count anew. It does not go back.
func (m *memorySource) reset() { m.offset = 0 }
