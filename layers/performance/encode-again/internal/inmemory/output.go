package inmemory

// Output receives what package bson encodes. bson.NewDocumentWriter takes the same writer for each document of an Output. The zero value is
// ready. It is not safe for concurrent use.
type Output struct {
	Bytes  []byte // of the last document; they belong to whoever takes them
	Writer any    // belongs to package bson

	// Borrowed says that encoders of the application get the writer, which may keep it, or write more than a document with it.
	Borrowed bool
}

// maxKept is the size up to which a writer's buffer is used again. Who encodes a large document once must not keep its memory: the document
// gets it, so that a large one is not copied.
const maxKept = 64 << 10 // more than most documents have

// RoomForID is the size of an element "_id" with an ObjectID.
const RoomForID = 1 + 4 + 12 // its type, its key with a zero, and the ObjectID

// Write implements the io.Writer interface. It leaves room for an _id, unless the document begins with one, or with an operator. What
// is written after the document is appended to it; an encoder of the application's that flushes again writes no bytes.
func (o *Output) Write(document []byte) (int, error) {
	if len(o.Bytes) > 0 {
		o.Bytes = append(o.Bytes, document...)
		return len(document), nil
	}
	if cap(document) > maxKept {
		o.Writer = nil // with the buffer, which the next document must not be written to
		if !o.Borrowed {
			o.Bytes = document
			return len(document), nil
		}
	}
	room := RoomForID
	if len(document) > 9 && (document[5] == '$' || string(document[5:9]) == "_id\x00") { // behind length and type
		room = 0
	}
	o.Bytes = append(make([]byte, 0, len(document)+room), document...)
	return len(document), nil
}
