// Package bsondoc reads and changes BSON documents as servers do.
package bsondoc

import "go.mongodb.org/mongo-driver/v2/bson"

// Number reads a value of any numeric type but decimal.
func Number(value bson.RawValue) (float64, bool) {
	if f, ok := value.DoubleOK(); ok {
		return f, true
	}
	n, ok := value.AsInt64OK()
	return float64(n), ok
}

// With returns the document with these fields: in the place of what it has, else at its end.
func With(doc bson.Raw, elements ...bson.E) (bson.Raw, error) {
	var fields bson.D
	if err := bson.Unmarshal(doc, &fields); err != nil {
		return nil, err
	}
	for _, element := range elements {
		fields = with(fields, element)
	}
	return bson.Marshal(fields)
}

func with(fields bson.D, element bson.E) bson.D {
	for i := range fields {
		if fields[i].Key == element.Key {
			fields[i] = element
			return fields
		}
	}
	return append(fields, element)
}
