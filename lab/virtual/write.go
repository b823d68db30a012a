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

// matching returns the documents whose fields have the filter's values.
func (s *store) matching(namespace string, filter bson.Raw) ([]bson.Raw, *failure) {
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
func (s *store) one(q *query, namespace string, inserted bson.Raw) *failure {
	id := inserted.Lookup("_id")
	if s.collection(namespace).get(id) != nil {
		message := fmt.Sprintf("E11000 duplicate key error collection: %s index: _id_ dup key: { _id: %v }", namespace, id)
		return &failure{Code: 11000, Message: message, Extra: doc("keyPattern", doc("_id", 1), "keyValue", doc("_id", id))}
	}
	s.write(q, namespace, "insert", id, inserted)
	return nil
}

// outcome is what a statement did.
type outcome struct {
	inserted, matched, modified, deleted int32
	upserted                             *bson.RawValue
	before, after                        bson.Raw // of the last document
}

// upserts are the fields that tell of a document that was inserted by an update.
func (o outcome) upserts(fields ...any) bson.D {
	if o.upserted == nil {
		return nil
	}
	return doc(append(fields, "_id", o.upserted)...)
}

// modify runs an update statement.
func (s *store) modify(q *query, namespace string, filter, update bson.Raw, multi, upsert bool) (outcome, *failure) {
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
	var o outcome
	for _, doc := range first(found, multi) {
		o.before, o.after = doc, changed(doc, update)
		o.matched++
		if string(o.after) != string(doc) {
			o.modified++
			s.write(q, namespace, "update", doc.Lookup("_id"), o.after)
		}
	}
	return o, nil
}

func (s *store) remove(q *query, namespace string, filter bson.Raw, multi bool) (o outcome, failed *failure) {
	found, failed := s.matching(namespace, filter)
	for _, doc := range first(found, multi) {
		o.before = doc
		o.deleted++
		s.write(q, namespace, "delete", doc.Lookup("_id"), nil)
	}
	return o, failed
}

// first returns the first document, or all of them.
func first(found []bson.Raw, multi bool) []bson.Raw {
	if multi {
		return found
	}
	return found[:min(1, len(found))]
}

// statements runs a write's statements until one fails, or all of them if they are not ordered.
func (s *store) statements(q *query, field string, run func(bson.Raw, int) *failure) (writeErrors bson.A, failed *failure) {
	ordered, given := q.doc.Lookup("ordered").BooleanOK()
	for i, value := range q.array(field) {
		statement, _ := value.DocumentOK()
		failed := run(statement, i)
		if failed == nil {
			continue
		}
		if q.transaction != nil {
			return nil, failed
		}
		writeErrors = append(writeErrors,
			append(doc("index", int32(i), "code", failed.Code, "errmsg", failed.Message), failed.Extra...))
		if ordered || !given {
			break
		}
	}
	return writeErrors, nil
}

// inserts, updates and deletes run the statements of such a command.
func (s *store) inserts(q *query) (result, *failure) {
	return s.many(q, "documents", func(statement bson.Raw) (outcome, *failure) {
		return outcome{inserted: 1}, s.one(q, q.namespace(), statement)
	})
}

func (s *store) updates(q *query) (result, *failure) {
	return s.many(q, "updates", func(statement bson.Raw) (outcome, *failure) {
		multi, upsert := bsondoc.IsTrue(statement.Lookup("multi")), bsondoc.IsTrue(statement.Lookup("upsert"))
		return s.modify(q, q.namespace(), document(statement, "q"), document(statement, "u"), multi, upsert)
	})
}

func (s *store) deletes(q *query) (result, *failure) {
	return s.many(q, "deletes", func(statement bson.Raw) (outcome, *failure) {
		return s.remove(q, q.namespace(), document(statement, "q"), number(statement, "limit", 0) == 0)
	})
}

func (s *store) many(q *query, field string, run func(bson.Raw) (outcome, *failure)) (reply result, failed *failure) {
	var n, modified int32
	var upserted bson.A
	writeErrors, failed := s.statements(q, field, func(statement bson.Raw, i int) *failure {
		o, failed := run(statement)
		if failed != nil {
			return failed
		}
		n, modified = n+o.inserted+o.matched+o.deleted, modified+o.modified
		if fields := o.upserts("index", int32(i)); fields != nil {
			n, upserted = n+1, append(upserted, fields)
		}
		return nil
	})
	if reply = doc("n", n); q.name == "update" {
		reply = append(reply, bson.E{Key: "nModified", Value: modified})
	}
	if len(upserted) > 0 {
		reply = append(reply, bson.E{Key: "upserted", Value: upserted})
	}
	if len(writeErrors) > 0 {
		reply = append(reply, bson.E{Key: "writeErrors", Value: writeErrors})
	}
	return reply, failed
}

func (s *store) findAndModify(q *query) (result, *failure) {
	var o outcome
	var failed *failure
	filter := document(q.doc, "query")
	if bsondoc.IsTrue(q.doc.Lookup("remove")) {
		o, failed = s.remove(q, q.namespace(), filter, false)
	} else {
		o, failed = s.modify(q, q.namespace(), filter, document(q.doc, "update"), false, bsondoc.IsTrue(q.doc.Lookup("upsert")))
	}
	n, value := o.matched+o.deleted, o.before
	if bsondoc.IsTrue(q.doc.Lookup("new")) {
		value = o.after
	}
	last := doc("n", n, "updatedExisting", n > 0)
	if o.upserted != nil {
		last = doc("n", int32(1), "updatedExisting", false, "upserted", o.upserted)
	}
	if value == nil {
		return doc("lastErrorObject", last, "value", nil), failed
	}
	return doc("lastErrorObject", last, "value", value), failed
}

// bulkWrite runs statements for several collections.
func (s *store) bulkWrite(q *query) (result, *failure) {
	var namespaces []string
	for _, value := range q.array("nsInfo") {
		info, _ := value.DocumentOK()
		namespace, _ := info.Lookup("ns").StringValueOK()
		namespaces = append(namespaces, namespace)
	}
	var sum outcome
	var upserts, failures int32
	var results []bson.Raw
	onlyErrors := bsondoc.IsTrue(q.doc.Lookup("errorsOnly"))
	_, failed := s.statements(q, "ops", func(op bson.Raw, i int) *failure {
		kind := bsondoc.FirstKey(op)
		at, _ := op.Index(0).Value().AsInt64OK()
		if int(at) >= len(namespaces) {
			return servererror.Errorf(servererror.CodeBadValue, "%s names namespace %d of %d", kind, at, len(namespaces))
		}
		o, failed := s.bulkStatement(q, kind, namespaces[at], op)
		if failed != nil {
			failures++
			results = append(results,
				marshal(doc("ok", 0.0, "idx", int32(i), "code", failed.Code, "errmsg", failed.Message, "n", int32(0))))
			return failed
		}
		reply := doc("ok", 1.0, "idx", int32(i), "n", o.inserted+o.matched+o.deleted)
		if kind == "update" {
			reply = append(reply, bson.E{Key: "nModified", Value: o.modified})
		}
		if fields := o.upserts(); fields != nil {
			upserts, reply = upserts+1, append(reply, bson.E{Key: "upserted", Value: fields})
		}
		sum.inserted, sum.matched = sum.inserted+o.inserted, sum.matched+o.matched
		sum.modified, sum.deleted = sum.modified+o.modified, sum.deleted+o.deleted
		if !onlyErrors {
			results = append(results, marshal(reply))
		}
		return nil
	})
	return append(s.open(q, "admin.$cmd.bulkWrite", results, false), doc("nErrors", failures, "nInserted", sum.inserted,
		"nMatched", sum.matched, "nModified", sum.modified, "nUpserted", upserts, "nDeleted", sum.deleted)...), failed
}

func (s *store) bulkStatement(q *query, kind, namespace string, op bson.Raw) (outcome, *failure) {
	multi := bsondoc.IsTrue(op.Lookup("multi"))
	switch kind {
	case "insert":
		return outcome{inserted: 1}, s.one(q, namespace, document(op, "document"))
	case "update":
		return s.modify(q, namespace, document(op, "filter"), document(op, "updateMods"), multi,
			bsondoc.IsTrue(op.Lookup("upsert")))
	default:
		return s.remove(q, namespace, document(op, "filter"), multi)
	}
}
