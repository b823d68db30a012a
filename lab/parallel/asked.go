package parallel

import (
	"bytes"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// asked is what a command asks for, wherever it says so: each document of a call has the call's nonce, and may have more such fields.
type asked struct {
	numbers    map[string]int32 // by key: nonce, docs and size of the result, probe, echo, batchSize
	statements int32            // of a write
	stream     bool
	pads       string // what paddings consist of
	torn       bool
}

// read reads a command, or a part of it.
func (q *asked) read(doc bson.Raw) {
	elements, err := doc.Elements()
	q.torn = q.torn || err != nil
	for _, e := range elements {
		key, value := e.Key(), e.Value()
		switch value.Type {
		case bson.TypeEmbeddedDocument:
			q.stream = q.stream || key == "$changeStream"
			q.read(value.Document())
		case bson.TypeArray:
			if list, _ := value.Array().Values(); key == "documents" || key == "updates" || key == "deletes" || key == "ops" {
				q.statements += int32(len(list))
			}
			q.read(bson.Raw(value.Array()))
		case bson.TypeInt32:
			before, is := q.numbers[key]
			q.torn = q.torn || key == "nonce" && is && before != value.Int32()
			q.numbers[key] = value.Int32()
		case bson.TypeBinary:
			if _, data := value.Binary(); key == "pad" && len(data) > 0 {
				q.torn = q.torn || bytes.Count(data, data[:1]) != len(data) || q.pads != "" && q.pads[0] != data[0]
				q.pads = string(data[:1])
			}
		}
	}
}

// wrong reports whether a command has several nonces, or bytes that are not those of its nonce. Writes have a nonce.
func (q *asked) wrong() bool {
	nonce := q.numbers["nonce"]
	return q.torn || nonce == spoiled || nonce == 0 && q.statements > 0 || q.pads != "" && byte(nonce) != q.pads[0]
}
