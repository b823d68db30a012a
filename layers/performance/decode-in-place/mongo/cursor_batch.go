package mongo

import (
	"reflect"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// addFromBatch decodes the documents of a batch into the elements of a slice from an index on. It returns the slice, which it makes longer
// if need be, and the index after the last document.
//
//fork:replace each document had a decoder of its own, and the slice grew although the number of documents is known
func (c *Cursor) addFromBatch(
	sliceVal reflect.Value,
	_ reflect.Type, // of the elements, which the slice knows
	batch *bsoncore.Iterator,
	index int,
) (reflect.Value, int, error) {
	docs, err := batch.Documents()
	if err != nil {
		return sliceVal, index, err
	}
	dec := newDocumentDecoder(c.bsonOpts, c.registry)
	for i, doc := range docs {
		if index == sliceVal.Len() {
			sliceVal = lengthen(sliceVal, len(docs)-i)
		}
		if err := dec.read(doc).Decode(sliceVal.Index(index).Addr().Interface()); err != nil {
			return sliceVal, index, err
		}
		index++
	}
	return sliceVal, index, nil
}

// lengthen returns a slice with more elements: those that it has room for, of which the next becomes zero; otherwise as many as are wanted,
// and at least a quarter, so that small batches do not move all of them each time.
func lengthen(slice reflect.Value, more int) reflect.Value {
	length := slice.Len()
	if length < slice.Cap() {
		return reflect.Append(slice, reflect.Zero(slice.Type().Elem())).Slice(0, slice.Cap())
	}
	if least := length / 4; more < least {
		more = least
	}
	longer := reflect.MakeSlice(slice.Type(), length+more, length+more)
	reflect.Copy(longer, slice)
	return longer
}
