package virtual

import (
	"fmt"
	"slices"
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

// statement is one of a write.
type statement struct {
	kind, namespace           string
	filter, update, insertion bson.Raw
	multi, upsert             bool
}

// statements are those of a write of one collection, or of a bulk write of several.
func (q *query) statements() (all []statement) {
	namespaces := q.array("nsInfo")
	for _, value := range q.array(map[string]string{"insert": "documents", "update": "updates", "delete": "deletes",
		"bulkWrite": "ops"}[q.name]) {
		op, _ := value.DocumentOK()
		one := statement{kind: q.name, filter: document(op, "q"), update: document(op, "u"), insertion: op,
			multi: bsondoc.IsTrue(op.Lookup("multi")), upsert: bsondoc.IsTrue(op.Lookup("upsert"))}
		switch q.name {
		case "delete":
			one.multi = number(op, "limit", 0) == 0
		case "bulkWrite":
			one.kind = bsondoc.FirstKey(op)
			one.filter, one.update, one.insertion = document(op, "filter"), document(op, "updateMods"), document(op, "document")
			info, _ := namespaces[number(op, one.kind, 0)].DocumentOK()
			one.namespace, _ = info.Lookup("ns").StringValueOK()
			all = append(all, one)
			continue
		}
		one.namespace = q.namespace()
		all = append(all, one)
	}
	return all
}

func (s *store) apply(q *query, one statement) (outcome, *failure) {
	switch one.kind {
	case "insert":
		return outcome{inserted: 1}, s.one(q, one.namespace, one.insertion)
	case "update":
		return s.modify(q, one.namespace, one.filter, one.update, one.multi, one.upsert)
	default:
		return s.remove(q, one.namespace, one.filter, one.multi)
	}
}

// writes runs a write's statements until one fails, or all of them if they are not ordered.
func (s *store) writes(q *query) (result, *failure) {
	var sum outcome
	var writeErrors, upserted bson.A
	var results []bson.Raw // of a bulk write
	unordered := bsondoc.Has(q.doc, "ordered") && !bsondoc.IsTrue(q.doc.Lookup("ordered"))
	for i, one := range q.statements() {
		o, failed := s.apply(q, one)
		if failed != nil {
			if q.transaction != nil {
				return nil, failed
			}
			fails := doc("code", failed.Code, "errmsg", failed.Message)
			writeErrors = append(writeErrors, slices.Concat(doc("index", int32(i)), fails, failed.Extra))
			results = append(results, marshal(append(doc("ok", 0.0, "idx", int32(i), "n", int32(0)), fails...)))
			if unordered {
				continue
			}
			break
		}
		reply := doc("ok", 1.0, "idx", int32(i), "n", o.inserted+o.matched+o.deleted)
		if one.kind == "update" {
			reply = append(reply, bson.E{Key: "nModified", Value: o.modified})
		}
		if o.upserted != nil {
			upserted = append(upserted, doc("index", int32(i), "_id", o.upserted))
			reply = append(reply, bson.E{Key: "upserted", Value: doc("_id", o.upserted)})
		}
		sum.inserted, sum.matched = sum.inserted+o.inserted, sum.matched+o.matched
		sum.modified, sum.deleted = sum.modified+o.modified, sum.deleted+o.deleted
		if !bsondoc.IsTrue(q.doc.Lookup("errorsOnly")) {
			results = append(results, marshal(reply))
		}
	}
	if q.name == "bulkWrite" {
		return append(s.open(q, "admin.$cmd.bulkWrite", results, false), doc("nErrors", int32(len(writeErrors)),
			"nInserted", sum.inserted, "nMatched", sum.matched, "nModified", sum.modified, "nUpserted", int32(len(upserted)),
			"nDeleted", sum.deleted)...), nil
	}
	reply := doc("n", sum.inserted+sum.matched+sum.deleted+int32(len(upserted)))
	for key, value := range map[string]bson.A{"upserted": upserted, "writeErrors": writeErrors} {
		if len(value) > 0 {
			reply = append(reply, bson.E{Key: key, Value: value})
		}
	}
	if q.name == "update" {
		reply = append(reply, bson.E{Key: "nModified", Value: sum.modified})
	}
	return reply, nil
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
