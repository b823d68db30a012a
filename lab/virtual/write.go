package virtual

import (
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/servererror"
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
	if n, ok := bsondoc.Int64(value); ok {
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

func splitNamespace(namespace string) (database, collection string, ok bool) {
	return strings.Cut(namespace, ".")
}

// matching returns the documents whose fields have the filter's values.
func (s *store) matching(namespace string, filter bson.Raw) ([]bson.Raw, *servererror.Error) {
	c := s.collection(namespace)
	wanted, _ := filter.Elements()
	for _, field := range wanted {
		if doc, ok := field.Value().DocumentOK(); strings.HasPrefix(field.Key(), "$") || ok &&
			strings.HasPrefix(bsondoc.FirstKey(doc), "$") {
			return nil, servererror.Errorf(servererror.CodeBadValue,
				"the model of a server compares fields for equality only, not %v", field)
		}
	}
	if len(wanted) == 1 && wanted[0].Key() == "_id" {
		if doc := c.get(wanted[0].Value()); doc != nil {
			return []bson.Raw{doc}, nil
		}
		return nil, nil
	}
	var found []bson.Raw
	for _, doc := range c.docs {
		if doc != nil && matches(doc, wanted) {
			found = append(found, doc)
		}
	}
	return found, nil
}

func matches(doc bson.Raw, wanted []bson.RawElement) bool {
	for _, field := range wanted {
		if value, err := doc.LookupErr(field.Key()); err != nil || indexKey(value) != indexKey(field.Value()) {
			return false
		}
	}
	return true
}

// changed returns a document with the update's $set and $inc, or the update itself if that is a document.
func changed(doc, update bson.Raw) bson.Raw {
	if !strings.HasPrefix(bsondoc.FirstKey(update), "$") {
		elements := bson.D{{Key: "_id", Value: doc.Lookup("_id")}}
		fields, _ := update.Elements()
		for _, field := range fields {
			if field.Key() != "_id" {
				elements = append(elements, bson.E{Key: field.Key(), Value: field.Value()})
			}
		}
		return marshal(elements)
	}
	for _, operator := range []string{"$setOnInsert", "$set", "$inc"} {
		fields, _ := document(update, operator).Elements()
		for _, field := range fields {
			var value any = field.Value()
			if operator == "$inc" {
				value = number(doc, field.Key(), 0) + number(document(update, operator), field.Key(), 0)
			}
			doc, _ = bsondoc.With(doc, bson.E{Key: field.Key(), Value: value})
		}
	}
	return doc
}

// one inserts a document, or returns the error of a duplicate.
func (s *store) one(q *query, namespace string, doc bson.Raw) *servererror.Error {
	id := doc.Lookup("_id")
	if s.collection(namespace).get(id) != nil {
		return &servererror.Error{
			Code: 11000, Message: fmt.Sprintf("E11000 duplicate key error collection: %s index: _id_ dup key: { _id: %v }",
				namespace, id),
			Extra: bson.D{{Key: "keyPattern", Value: bson.D{{Key: "_id", Value: 1}}},
				{Key: "keyValue", Value: bson.D{{Key: "_id", Value: id}}}},
		}
	}
	s.write(q, namespace, "insert", id, doc)
	return nil
}

// outcome is what a statement did.
type outcome struct {
	matched, modified, deleted int32
	upserted                   *bson.RawValue
	before, after              bson.Raw // of the last document
}

// modify runs an update statement.
func (s *store) modify(q *query, namespace string, filter, update bson.Raw, multi, upsert bool) (outcome, *servererror.Error) {
	found, failed := s.matching(namespace, filter)
	if failed != nil {
		return outcome{}, failed
	}
	if len(found) == 0 && upsert {
		doc := filter
		if !bsondoc.Has(doc, "_id") {
			doc, _ = bsondoc.With(doc, bson.E{Key: "_id", Value: bson.NewObjectID()})
		}
		doc = changed(doc, update)
		id := doc.Lookup("_id")
		return outcome{upserted: &id, after: doc}, s.one(q, namespace, doc)
	}
	if !multi {
		found = found[:min(1, len(found))]
	}
	var o outcome
	for _, doc := range found {
		o.before, o.after = doc, changed(doc, update)
		o.matched++
		if string(o.after) != string(doc) {
			o.modified++
			s.write(q, namespace, "update", doc.Lookup("_id"), o.after)
		}
	}
	return o, nil
}

func (s *store) remove(q *query, namespace string, filter bson.Raw, multi bool) (outcome, *servererror.Error) {
	found, failed := s.matching(namespace, filter)
	if !multi {
		found = found[:min(1, len(found))]
	}
	var o outcome
	for _, doc := range found {
		o.before = doc
		o.deleted++
		s.write(q, namespace, "delete", doc.Lookup("_id"), nil)
	}
	return o, failed
}

// statements runs a write's statements until one fails, or all of them if they are not ordered.
func (s *store) statements(q *query, field string, run func(bson.Raw, int) *servererror.Error) (writeErrors bson.A,
	failed *servererror.Error) {
	ordered, given := q.doc.Lookup("ordered").BooleanOK()
	for i, value := range q.array(field) {
		statement, _ := value.DocumentOK()
		failure := run(statement, i)
		if failure == nil {
			continue
		}
		if q.transaction != nil {
			return nil, failure
		}
		writeErrors = append(writeErrors, append(bson.D{
			{Key: "index", Value: int32(i)}, {Key: "code", Value: failure.Code}, {Key: "errmsg", Value: failure.Message},
		}, failure.Extra...))
		if ordered || !given {
			break
		}
	}
	return writeErrors, nil
}

func withErrors(reply result, writeErrors bson.A) result {
	if len(writeErrors) > 0 {
		reply = append(reply, bson.E{Key: "writeErrors", Value: writeErrors})
	}
	return reply
}

func (s *store) insert(q *query) (result, *servererror.Error) {
	n := int32(0)
	writeErrors, failed := s.statements(q, "documents", func(doc bson.Raw, _ int) *servererror.Error {
		failure := s.one(q, q.namespace(), doc)
		if failure == nil {
			n++
		}
		return failure
	})
	return withErrors(result{{Key: "n", Value: n}}, writeErrors), failed
}

func (s *store) update(q *query) (result, *servererror.Error) {
	var n, modified int32
	var upserted bson.A
	writeErrors, failed := s.statements(q, "updates", func(statement bson.Raw, i int) *servererror.Error {
		multi, upsert := bsondoc.IsTrue(statement.Lookup("multi")), bsondoc.IsTrue(statement.Lookup("upsert"))
		o, failure := s.modify(q, q.namespace(), document(statement, "q"), document(statement, "u"), multi, upsert)
		n, modified = n+o.matched, modified+o.modified
		if o.upserted != nil && failure == nil {
			n++
			upserted = append(upserted, bson.D{{Key: "index", Value: int32(i)}, {Key: "_id", Value: o.upserted}})
		}
		return failure
	})
	reply := result{{Key: "n", Value: n}, {Key: "nModified", Value: modified}}
	if len(upserted) > 0 {
		reply = append(reply, bson.E{Key: "upserted", Value: upserted})
	}
	return withErrors(reply, writeErrors), failed
}

func (s *store) delete(q *query) (result, *servererror.Error) {
	n := int32(0)
	writeErrors, failed := s.statements(q, "deletes", func(statement bson.Raw, _ int) *servererror.Error {
		o, failure := s.remove(q, q.namespace(), document(statement, "q"), number(statement, "limit", 0) == 0)
		n += o.deleted
		return failure
	})
	return withErrors(result{{Key: "n", Value: n}}, writeErrors), failed
}

func (s *store) findAndModify(q *query) (result, *servererror.Error) {
	filter := document(q.doc, "query")
	if bsondoc.IsTrue(q.doc.Lookup("remove")) {
		o, failed := s.remove(q, q.namespace(), filter, false)
		return modified(o.deleted, o.before, nil), failed
	}
	o, failed := s.modify(q, q.namespace(), filter, document(q.doc, "update"), false, bsondoc.IsTrue(q.doc.Lookup("upsert")))
	value, n := o.before, o.matched
	if bsondoc.IsTrue(q.doc.Lookup("new")) {
		value = o.after
	}
	if o.upserted != nil {
		n = 1
	}
	return modified(n, value, o.upserted), failed
}

func modified(n int32, value bson.Raw, upserted *bson.RawValue) result {
	last := bson.D{{Key: "n", Value: n}, {Key: "updatedExisting", Value: n > 0 && upserted == nil}}
	if upserted != nil {
		last = append(last, bson.E{Key: "upserted", Value: upserted})
	}
	reply := result{{Key: "lastErrorObject", Value: last}, {Key: "value", Value: nil}}
	if value != nil {
		reply[1].Value = value
	}
	return reply
}

// bulkWrite runs statements for several collections.
func (s *store) bulkWrite(q *query) (result, *servererror.Error) {
	var namespaces []string
	for _, value := range q.array("nsInfo") {
		info, _ := value.DocumentOK()
		namespace, _ := info.Lookup("ns").StringValueOK()
		namespaces = append(namespaces, namespace)
	}
	counts := map[string]int32{}
	var results []bson.Raw
	onlyErrors := bsondoc.IsTrue(q.doc.Lookup("errorsOnly"))
	_, failed := s.statements(q, "ops", func(op bson.Raw, i int) *servererror.Error {
		kind := bsondoc.FirstKey(op)
		at, _ := op.Index(0).Value().AsInt64OK()
		if int(at) >= len(namespaces) {
			return servererror.Errorf(servererror.CodeBadValue, "%s names namespace %d of %d", kind, at, len(namespaces))
		}
		o, failure := s.bulkStatement(q, kind, namespaces[at], op)
		reply := bson.D{{Key: "ok", Value: 1.0}, {Key: "idx", Value: int32(i)}, {Key: "n", Value: o.matched + o.deleted}}
		switch {
		case failure != nil:
			counts["nErrors"]++
			reply = bson.D{
				{Key: "ok", Value: 0.0}, {Key: "idx", Value: int32(i)}, {Key: "code", Value: failure.Code},
				{Key: "errmsg", Value: failure.Message}, {Key: "n", Value: int32(0)},
			}
		case kind == "update":
			reply = append(reply, bson.E{Key: "nModified", Value: o.modified})
			if o.upserted != nil {
				reply = append(reply, bson.E{Key: "upserted", Value: bson.D{{Key: "_id", Value: o.upserted}}})
				counts["nUpserted"]++
			}
			counts["nMatched"], counts["nModified"] = counts["nMatched"]+o.matched, counts["nModified"]+o.modified
		case kind == "insert":
			counts["nInserted"]++
		default:
			counts["nDeleted"] += o.deleted
		}
		if failure != nil || !onlyErrors {
			results = append(results, marshal(reply))
		}
		return failure
	})
	reply := s.open(q, "admin.$cmd.bulkWrite", results, false)
	for _, name := range []string{"nErrors", "nInserted", "nMatched", "nModified", "nUpserted", "nDeleted"} {
		reply = append(reply, bson.E{Key: name, Value: counts[name]})
	}
	return reply, failed
}

func (s *store) bulkStatement(q *query, kind, namespace string, op bson.Raw) (outcome, *servererror.Error) {
	multi := bsondoc.IsTrue(op.Lookup("multi"))
	switch kind {
	case "insert":
		return outcome{matched: 1}, s.one(q, namespace, document(op, "document"))
	case "update":
		return s.modify(q, namespace, document(op, "filter"), document(op, "updateMods"), multi,
			bsondoc.IsTrue(op.Lookup("upsert")))
	default:
		return s.remove(q, namespace, document(op, "filter"), multi)
	}
}
