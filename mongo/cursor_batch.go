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
	_ reflect.Type,
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

// lengthen returns a slice with more elements: at first those that it has room for, of which the next becomes zero. Otherwise it makes room
// for as many as are wanted, and for a quarter of what it has, so that the elements of many small batches are not moved for each.
func lengthen(slice reflect.Value, more int) reflect.Value {
	length := slice.Len()
	if length < slice.Cap() {
		slice = slice.Slice(0, slice.Cap())
		next := slice.Index(length)
		next.Set(reflect.Zero(next.Type()))
		return slice
	}
	if least := length / 4; more < least {
		more = least
	}
	longer := reflect.MakeSlice(slice.Type(), length+more, length+more)
	reflect.Copy(longer, slice)
	return longer
}
