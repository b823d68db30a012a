package bsoncore

// Elements returns the elements of the document. If it is malformed, the error comes with the elements before that place.
//
//fork:replace the slice grew with the elements
func (d Document) Elements() ([]Element, error) {
	count := 0
	_ = d.eachElement(func(Element) error { count++; return nil }) // what is malformed is found by the second pass
	list := make([]Element, 0, count)
	err := d.eachElement(func(e Element) error {
		err := e.Validate()
		if err == nil {
			list = append(list, e)
		}
		return err
	})
	if len(list) == 0 {
		return nil, err
	}
	return list, err
}

func (d Document) eachElement(found func(Element) error) error {
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
		if err := found(next); err != nil {
			return err
		}
		left -= int32(len(next))
	}
	return nil
}
