package virtual

import (
	"bytes"
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
func (s *store) matching(namespace string, filter bson.Raw) (found []bson.Raw) {
	c := s.collection(namespace)
	wanted, _ := filter.Elements()
	for _, field := range wanted {
		doc, _ := field.Value().DocumentOK()
		if strings.HasPrefix(field.Key(), "$") || strings.HasPrefix(bsondoc.FirstKey(doc), "$") {
			panic(fmt.Sprintf("the model of a server compares fields for equality only, not %v", field))
		}
	}
	if len(wanted) == 1 && wanted[0].Key() == "_id" {
		if doc := c.get(wanted[0].Value()); doc != nil {
			found = append(found, doc)
		}
		return found
	}
	for _, doc := range c.docs {
		if doc != nil && matches(doc, wanted) {
			found = append(found, doc)
		}
	}
	return found
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
func changed(before, update bson.Raw) bson.Raw {
	if !strings.HasPrefix(bsondoc.FirstKey(update), "$") {
		all := doc("_id", before.Lookup("_id"))
		fields, _ := bsondoc.Rebuild(update, []string{"_id"}, nil).Elements()
		for _, field := range fields {
			all = append(all, bson.E{Key: field.Key(), Value: field.Value()})
		}
		return marshal(all)
	}
	after := before
	for _, operator := range []string{"$setOnInsert", "$set", "$inc"} {
		operand, _ := update.Lookup(operator).DocumentOK()
		fields, _ := operand.Elements()
		for _, field := range fields {
			var value any = field.Value()
			if operator == "$inc" {
				n, _ := bsondoc.Int64(after.Lookup(field.Key()))
				more, _ := bsondoc.Int64(field.Value())
				value = n + more
			}
			after, _ = bsondoc.With(after, bson.E{Key: field.Key(), Value: value})
		}
	}
	return after
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

// outcome is what a statement did to how many documents, beside one that was upserted.
type outcome struct {
	n, modified   int32
	upserted      *bson.RawValue
	before, after bson.Raw // of the last document
}

// statement is one of a write. What it is decoded from is one of a bulk write, which names it by the number of its namespace.
type statement struct {
	kind, namespace        string
	Insert, Update, Delete *int
	Filter, Document       bson.Raw
	Change                 bson.Raw `bson:"updateMods"`
	Multi, Upsert          bool
}

// statements are those of a write of one collection, or of a bulk write of several.
func (q *query) statements() (all []statement) {
	in := q.namespace()
	for _, doc := range q.Documents {
		all = append(all, statement{kind: "insert", namespace: in, Document: doc})
	}
	for _, u := range q.Updates {
		all = append(all, statement{kind: "update", namespace: in, Filter: u.Q, Change: u.U, Multi: u.Multi, Upsert: u.Upsert})
	}
	for _, d := range q.Deletes {
		all = append(all, statement{kind: "delete", namespace: in, Filter: d.Q, Multi: d.Limit == 0})
	}
	for _, op := range q.Ops {
		for kind, number := range map[string]*int{"insert": op.Insert, "update": op.Update, "delete": op.Delete} {
			if number != nil {
				op.kind, op.namespace = kind, q.NSInfo[*number].NS
			}
		}
		all = append(all, op)
	}
	return all
}

// apply runs a statement.
func (s *store) apply(q *query, one statement) (o outcome, failed *failure) {
	if one.kind == "insert" {
		return outcome{n: 1}, s.one(q, one.namespace, one.Document)
	}
	found := s.matching(one.namespace, one.Filter)
	if len(found) == 0 && one.Upsert {
		doc := one.Filter
		if !bsondoc.Has(doc, "_id") {
			doc, _ = bsondoc.With(doc, bson.E{Key: "_id", Value: bson.NewObjectID()})
		}
		doc = changed(doc, one.Change)
		id := doc.Lookup("_id")
		return outcome{upserted: &id, after: doc}, s.one(q, one.namespace, doc)
	}
	if !one.Multi {
		found = found[:min(1, len(found))]
	}
	for _, doc := range found {
		o.n++
		if o.before = doc; one.kind == "update" {
			o.after = changed(doc, one.Change)
		}
		if !bytes.Equal(doc, o.after) {
			o.modified++
			s.write(q, one.namespace, one.kind, doc.Lookup("_id"), o.after)
		}
	}
	return o, nil
}

// writes runs a write's statements until one fails, or all of them if they are not ordered.
func (s *store) writes(q *query) (result, *failure) {
	var modified int32
	n := map[string]int32{} // by kind
	var writeErrors, upserted bson.A
	var results []bson.Raw // of a bulk write
	for i, one := range q.statements() {
		o, failed := s.apply(q, one)
		if failed != nil {
			if q.transaction != nil {
				return nil, failed
			}
			fails := doc("code", failed.Code, "errmsg", failed.Message)
			writeErrors = append(writeErrors, slices.Concat(doc("index", int32(i)), fails, failed.Extra))
			results = append(results, marshal(append(doc("ok", 0.0, "idx", int32(i), "n", int32(0)), fails...)))
			if q.Ordered {
				break
			}
			continue
		}
		n[one.kind] += o.n
		reply := doc("ok", 1.0, "idx", int32(i), "n", o.n)
		if one.kind == "update" {
			modified += o.modified
			reply = append(reply, bson.E{Key: "nModified", Value: o.modified})
		}
		if o.upserted != nil {
			upserted = append(upserted, doc("index", int32(i), "_id", o.upserted))
			reply = append(reply, bson.E{Key: "upserted", Value: doc("_id", o.upserted)})
		}
		if !q.ErrorsOnly {
			results = append(results, marshal(reply))
		}
	}
	if q.name == "bulkWrite" {
		return append(s.open(q, "admin.$cmd.bulkWrite", results), doc("nErrors", int32(len(writeErrors)),
			"nInserted", n["insert"], "nMatched", n["update"], "nModified", modified, "nUpserted", int32(len(upserted)),
			"nDeleted", n["delete"])...), nil
	}
	reply := doc("n", n[q.name]+int32(len(upserted)))
	if len(upserted) > 0 {
		reply = append(reply, bson.E{Key: "upserted", Value: upserted})
	}
	if len(writeErrors) > 0 {
		reply = append(reply, bson.E{Key: "writeErrors", Value: writeErrors})
	}
	if q.name == "update" {
		reply = append(reply, bson.E{Key: "nModified", Value: modified})
	}
	return reply, nil
}

func (s *store) findAndModify(q *query) (result, *failure) {
	one := statement{kind: "update", namespace: q.namespace(), Filter: q.Query, Upsert: q.Upsert}
	if one.Change, _ = q.Update.DocumentOK(); q.Remove {
		one.kind = "delete"
	}
	o, failed := s.apply(q, one)
	last := doc("n", o.n, "updatedExisting", o.n > 0)
	if o.upserted != nil {
		last = doc("n", int32(1), "updatedExisting", false, "upserted", o.upserted)
	}
	value := bson.RawValue{Type: bson.TypeEmbeddedDocument, Value: o.before}
	if q.New {
		value.Value = o.after
	}
	if value.Value == nil {
		value.Type = bson.TypeNull
	}
	return doc("lastErrorObject", last, "value", value), failed
}

// Document returns a document of the database, or nil.
func (s *store) Document(namespace string, id any) bson.Raw {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.collection(namespace).get(marshal(doc("_id", id)).Lookup("_id"))
}

// Put inserts a document, or replaces it.
func (s *store) Put(namespace string, doc any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	raw := marshal(doc)
	s.collection(namespace).put(raw.Lookup("_id"), raw)
}
