package failpoint

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/answer"
)

// fields reads a fail point's data. The first error sticks, so that the data reads as a list of its fields.
type fields struct {
	fail string // the fail point's name
	doc  bson.Raw
	err  error
}

func (f *fields) reject(key string, value bson.RawValue, want string) {
	if f.err == nil {
		f.err = answer.Errorf(answer.CodeTypeMismatch, "%s: data.%s is %v; give %s", f.fail, key, value, want)
	}
}

// each calls read with every field; it returns whether it knows the field.
func (f *fields) each(read func(key string, value bson.RawValue) (known bool)) error {
	elements, err := f.doc.Elements()
	if err != nil {
		return answer.Errorf(answer.CodeBadValue, "%s: data: %v", f.fail, err)
	}
	for _, element := range elements {
		if key := element.Key(); !read(key, element.Value()) && f.err == nil {
			f.err = answer.Errorf(answer.CodeInvalidOptions, "%s: the lab has no data.%s", f.fail, key)
		}
	}
	return f.err
}

func (f *fields) boolean(key string, value bson.RawValue) bool {
	b, ok := value.BooleanOK()
	if !ok {
		f.reject(key, value, "true or false")
	}
	return b
}

func (f *fields) text(key string, value bson.RawValue) string {
	s, ok := value.StringValueOK()
	if !ok {
		f.reject(key, value, "a string")
	}
	return s
}

func (f *fields) count(key string, value bson.RawValue) int32 {
	n, err := parseCount(fmt.Sprintf("%s: data.%s", f.fail, key), value)
	if err != nil && f.err == nil {
		f.err = err
	}
	return int32(n)
}

func (f *fields) document(key string, value bson.RawValue) bson.Raw {
	doc, ok := value.DocumentOK()
	if !ok {
		f.reject(key, value, "a document")
	}
	return doc
}

// texts reads an array of strings. It is never nil, so that an empty array differs from a missing one.
func (f *fields) texts(key string, value bson.RawValue) []string {
	texts := []string{}
	array, ok := value.ArrayOK()
	if !ok {
		f.reject(key, value, "an array of strings")
		return texts
	}
	values, err := array.Values()
	if err != nil {
		f.reject(key, value, "an array of strings")
	}
	for _, value := range values {
		texts = append(texts, f.text(key, value))
	}
	return texts
}
