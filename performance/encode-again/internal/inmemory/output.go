package inmemory

// Output receives what package bson encodes. bson.NewDocumentWriter takes the same writer for each document of an Output. The zero value is
// ready. It is not safe for concurrent use.
type Output struct {
	Bytes  []byte // of the last document; they belong to whoever takes them
	Writer any    // belongs to package bson
}

// maxKept is the size up to which a writer's buffer is used again. Who encodes a large document once must not keep its memory.
const maxKept = 64 << 10

// Write implements the io.Writer interface.
func (o *Output) Write(document []byte) (int, error) {
	o.Bytes = append(o.Bytes, document...)
	if cap(document) > maxKept {
		o.Writer = nil
	}
	return len(document), nil
}
