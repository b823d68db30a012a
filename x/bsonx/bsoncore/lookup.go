package bsoncore

// LookupErr searches for the value under a key, and with more than one key in what is embedded under the keys before it: documents
// and arrays, of which the keys are the indexes. It returns ErrElementNotFound if a key is missing, an InvalidDepthTraversalError
// if something else is embedded under a key with others behind it, an InsufficientBytesError for what is malformed, and
// ErrEmptyKey without keys.
//
//fork:wrap an embedded document or array that says to be shorter than its length let it panic
func (d Document) LookupErr(key ...string) (Value, error) {
	for len(key) > 1 {
		val, err := d.upstreamLookupErr(key[0])
		if err != nil {
			return Value{}, err
		}
		if d, err = embedded(val, key[0]); err != nil {
			return Value{}, err
		}
		key = key[1:]
	}
	return d.upstreamLookupErr(key...)
}

// embedded returns the document or array that is the value under a key, an array as the document that it is made of.
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

// IndexErr searches for the value at an index, from 0. It returns ErrOutOfBounds if there are not as many, and an
// InsufficientBytesError for what is malformed.
//
//fork:wrap a malformed value was returned as an empty one without an error
func (a Array) IndexErr(index uint) (Value, error) {
	val, err := a.upstreamIndexErr(index)
	if err == nil && val.Type == 0 {
		err = NewInsufficientBytesError(a, a)
	}
	return val, err
}
