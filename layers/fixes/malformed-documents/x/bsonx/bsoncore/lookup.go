package bsoncore

// Each further key searches the document or array found before it; the keys of an array are its indexes. The error is
// ErrElementNotFound if a key is missing, an InvalidDepthTraversalError if the value under any key but the last is neither a
// document nor an array, an InsufficientBytesError if one is malformed, and ErrEmptyKey without keys.
//
//fork:wrap an embedded document or array whose stated length is less than 4 made it panic
func (d Document) LookupErr(key ...string) (Value, error) {
	if len(key) > 1 {
		val, err := d.LookupErr(key[0])
		if err != nil {
			return Value{}, err
		}
		inner, err := embedded(val, key[0])
		if err != nil {
			return Value{}, err
		}
		return inner.LookupErr(key[1:]...)
	}
	return d.upstreamLookupErr(key...)
}

// embedded returns the value under a key if it is a document or an array, an array as the document that encodes it.
func embedded(val Value, key string) (Document, error) {
	var doc Document
	var ok bool
	switch val.Type {
	case TypeEmbeddedDocument:
		doc, ok = val.DocumentOK()
	case TypeArray:
		var arr Array
		arr, ok = val.ArrayOK()
		doc = Document(arr)
	default:
		return nil, InvalidDepthTraversalError{Key: key, Type: val.Type}
	}
	if !ok {
		return nil, NewInsufficientBytesError(val.Data, val.Data)
	}
	return doc, nil
}

// IndexErr returns the value at an index, counted from 0. The error is ErrOutOfBounds if there are too few values, and an
// InsufficientBytesError if one is malformed.
//
//fork:replace a malformed value was returned as an empty one without an error
func (a Array) IndexErr(index uint) (Value, error) {
	elem, err := indexErr(a, index)
	if err != nil {
		return Value{}, err
	}
	return elem.ValueErr()
}
