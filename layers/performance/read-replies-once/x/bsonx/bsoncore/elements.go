package bsoncore

// Elements returns the elements of the document. If it is malformed, the error comes with the elements before that place.
//
//fork:replace the slice grew with the elements
func (d Document) Elements() ([]Element, error) {
	count := 0
	err := d.eachElement(func(Element) { count++ })
	if count == 0 {
		return nil, err
	}
	list := make([]Element, 0, count)
	_ = d.eachElement(func(e Element) { list = append(list, e) }) // with the same error
	return list, err
}

func (d Document) eachElement(found func(Element)) error {
	length, rest, ok := ReadLength(d)
	if !ok {
		return NewInsufficientBytesError(d, rest)
	}
	const header, end = 4, 1
	for left := length - header; left > end; {
		var next Element
		if next, rest, ok = ReadElement(rest); !ok {
			return NewInsufficientBytesError(d, rest)
		}
		if err := next.Validate(); err != nil {
			return err
		}
		found(next)
		left -= int32(len(next))
	}
	return nil
}
