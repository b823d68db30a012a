// Package inmemory lets package mongo hand documents to package bson that are in memory, without any change of their API.
package inmemory

import "io"

// Document is a document that is in memory. bson.NewDocumentReader reads such a Document in place; for any other io.Reader it has to have a
// buffer and to copy. The zero value is an empty document. It is not safe for concurrent use.
type Document struct {
	Bytes  []byte
	Reader any // belongs to package bson, which uses it for the next document again
}

// Read implements the io.Reader interface, for NewDocumentReader, which takes one but does not read from a Document by it.
func (d *Document) Read(to []byte) (int, error) {
	if len(d.Bytes) == 0 {
		return 0, io.EOF
	}
	n := copy(to, d.Bytes)
	d.Bytes = d.Bytes[n:]
	return n, nil
}
