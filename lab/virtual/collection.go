package virtual

import (
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/bsondoc"
)

// collection keeps documents by their _id, in the order in which they were inserted.
type collection struct {
	docs  []bson.Raw // nil for one that was deleted
	index map[string]int
}

func newCollection(docs []bson.Raw) *collection {
	c := &collection{index: map[string]int{}}
	for _, doc := range docs {
		c.put(doc.Lookup("_id"), doc)
	}
	return c
}

func (s *store) collection(namespace string) *collection {
	c := s.collections[namespace]
	if c == nil {
		c = newCollection(nil)
		s.collections[namespace] = c
	}
	return c
}

// indexKey is the same for values that servers take for equal: whole numbers of any type.
func indexKey(value bson.RawValue) string {
	if n, ok := value.AsInt64OK(); ok {
		return fmt.Sprint(n)
	}
	return string(rune(value.Type)) + string(value.Value)
}

func (c *collection) get(id bson.RawValue) bson.Raw {
	if i, ok := c.index[indexKey(id)]; ok {
		return c.docs[i]
	}
	return nil
}

// put replaces a document, or inserts it; nil deletes it.
func (c *collection) put(id bson.RawValue, doc bson.Raw) {
	key := indexKey(id)
	i, ok := c.index[key]
	switch {
	case ok:
		c.docs[i] = doc
	case doc != nil:
		c.index[key] = len(c.docs)
		c.docs = append(c.docs, doc)
	}
}

// matching returns the documents whose fields have the filter's values, or one of them each.
func (s *store) matching(namespace string, filter bson.Raw) (found []bson.Raw) {
	wanted, _ := filter.Elements()
	for _, doc := range s.collection(namespace).docs {
		if doc != nil && matches(doc, wanted) {
			found = append(found, doc)
		}
	}
	return found
}

func matches(doc bson.Raw, wanted []bson.RawElement) bool {
	for _, field := range wanted {
		suitable := []bson.RawValue{field.Value()}
		condition, _ := field.Value().DocumentOK()
		switch operator := bsondoc.FirstKey(condition); {
		case operator == "$eq":
			suitable[0] = condition.Index(0).Value()
		case operator == "$in":
			suitable, _ = condition.Index(0).Value().Array().Values()
		case strings.HasPrefix(operator, "$") || strings.HasPrefix(field.Key(), "$"):
			panic(fmt.Sprintf("the model of a server compares fields by $eq and $in only, not by %v", field))
		}
		value, err := doc.LookupErr(field.Key())
		if err != nil || !slices.ContainsFunc(suitable, func(one bson.RawValue) bool { return indexKey(value) == indexKey(one) }) {
			return false
		}
	}
	return true
}

// changed returns a document with the update's $set and $inc, or the update itself if that is a document.
func changed(before, update bson.Raw) bson.Raw {
	if !strings.HasPrefix(bsondoc.FirstKey(update), "$") {
		id := bsondoc.Marshal(bsondoc.D("_id", before.Lookup("_id")))
		return bsondoc.Rebuild(id, nil, bsondoc.Rebuild(update, []string{"_id"}, nil))
	}
	after := before
	for _, operator := range []string{"$setOnInsert", "$set", "$inc"} {
		operand, _ := update.Lookup(operator).DocumentOK()
		fields, _ := operand.Elements()
		for _, field := range fields {
			var value any = field.Value()
			if operator == "$inc" {
				n, _ := after.Lookup(field.Key()).AsInt64OK()
				more, _ := field.Value().AsInt64OK()
				value = n + more
			}
			after = bsondoc.With(after, bson.E{Key: field.Key(), Value: value})
		}
	}
	return after
}

// Document returns a document of the database, or nil.
func (s *store) Document(namespace string, id any) bson.Raw {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.collection(namespace).get(bsondoc.Marshal(bsondoc.D("_id", id)).Lookup("_id"))
}

// Put inserts a document, or replaces it.
func (s *store) Put(namespace string, doc any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	raw := bsondoc.Marshal(doc)
	s.collection(namespace).put(raw.Lookup("_id"), raw)
}
