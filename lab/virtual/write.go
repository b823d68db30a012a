package virtual

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/bsondoc"
)

// write is a change of one document.
func (s *store) write(q *query, namespace, kind string, id bson.RawValue, doc bson.Raw) {
	c := s.collection(namespace)
	before := c.get(id)
	c.put(id, doc)
	if q.transaction != nil {
		q.transaction.undo = append(q.transaction.undo, func() { c.put(id, before) })
	}
	s.report(namespace, kind, id)
}

// one inserts a document, or returns the error of a duplicate.
func (s *store) one(q *query, namespace string, inserted bson.Raw) *failure {
	id := inserted.Lookup("_id")
	if s.collection(namespace).get(id) != nil {
		message := fmt.Sprintf("E11000 duplicate key error collection: %s index: _id_ dup key: { _id: %v }", namespace, id)
		extra := bsondoc.D("keyPattern", bsondoc.D("_id", 1), "keyValue", bsondoc.D("_id", id))
		return &failure{Code: 11000, Message: message, Extra: extra}
	}
	s.write(q, namespace, "insert", id, inserted)
	return nil
}

// effect is what a statement did to how many documents, beside one that was upserted.
type effect struct {
	n, modified   int32
	upserted      *bson.RawValue
	before, after bson.Raw // of the last document
}

// statement is one of a write. One of a bulk write has longer names than one of another write, and the number of its namespace.
type statement struct {
	kind, namespace        string
	Insert, Update, Delete *int
	Document               bson.Raw
	Filter, Q              bson.Raw
	Change                 bson.Raw `bson:"updateMods"`
	U                      bson.Raw
	Multi, Upsert          bool
	Limit                  int // 0 for none
}

// statements are those of a write of one collection, or of a bulk write of several.
func (q *query) statements() (all []statement) {
	for _, doc := range q.Documents {
		all = append(all, statement{Document: doc})
	}
	for _, one := range slices.Concat(q.Updates, q.Deletes) {
		one.Filter, one.Change, one.Multi = one.Q, one.U, one.Multi || q.Command == "delete" && one.Limit == 0
		all = append(all, one)
	}
	for i := range all {
		all[i].kind, all[i].namespace = q.Command, q.namespace()
	}
	for _, one := range q.Ops {
		for kind, number := range map[string]*int{"insert": one.Insert, "update": one.Update, "delete": one.Delete} {
			if number != nil {
				one.kind, one.namespace = kind, q.NSInfo[*number].NS
			}
		}
		all = append(all, one)
	}
	return all
}

// apply runs a statement.
func (s *store) apply(q *query, one statement) (o effect, failed *failure) {
	if one.kind == "insert" {
		return effect{n: 1}, s.one(q, one.namespace, one.Document)
	}
	found := s.matching(one.namespace, one.Filter)
	if len(found) == 0 && one.Upsert {
		doc := one.Filter
		if !bsondoc.Has(doc, "_id") {
			doc = bsondoc.With(doc, bson.E{Key: "_id", Value: bson.NewObjectID()})
		}
		doc = changed(doc, one.Change)
		id := doc.Lookup("_id")
		return effect{upserted: &id, after: doc}, s.one(q, one.namespace, doc)
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

// written is what the statements of a write did.
type written struct {
	n                     map[string]int32 // by kind
	modified              int32
	upserted, writeErrors bson.A
	results               []bson.Raw // of a bulk write
}

// add adds what a statement did, or that it failed.
func (w *written) add(i int, kind string, o effect, failed *failure) {
	index := int32(i)
	if failed != nil {
		fails := bsondoc.D("code", failed.Code, "errmsg", failed.Message)
		w.writeErrors = append(w.writeErrors, slices.Concat(bsondoc.D("index", index), fails, failed.Extra))
		w.results = append(w.results, bsondoc.Marshal(append(bsondoc.D("ok", 0.0, "idx", index, "n", int32(0)), fails...)))
		return
	}
	w.n[kind] += o.n
	reply := bsondoc.D("ok", 1.0, "idx", index, "n", o.n)
	if kind == "update" {
		w.modified += o.modified
		reply = append(reply, bsondoc.D("nModified", o.modified)...)
	}
	if o.upserted != nil {
		w.upserted = append(w.upserted, bsondoc.D("index", index, "_id", o.upserted))
		reply = append(reply, bsondoc.D("upserted", bsondoc.D("_id", o.upserted))...)
	}
	w.results = append(w.results, bsondoc.Marshal(reply))
}

// writes runs a write's statements until one fails, or all of them if they are not ordered.
func (s *store) writes(q *query) (result, *failure) {
	w := written{n: map[string]int32{}}
	for i, one := range q.statements() {
		o, failed := s.apply(q, one)
		if failed != nil && q.transaction != nil {
			return nil, failed
		}
		w.add(i, one.kind, o, failed)
		if failed != nil && q.Ordered {
			break
		}
	}
	nErrors, nUpserted := int32(len(w.writeErrors)), int32(len(w.upserted))
	if q.Command == "bulkWrite" {
		if q.ErrorsOnly {
			w.results = slices.DeleteFunc(w.results, bsondoc.Succeeded)
		}
		return append(s.open(q, cursor{namespace: "admin.$cmd.bulkWrite", rest: w.results}), bsondoc.D("nErrors", nErrors,
			"nInserted", w.n["insert"], "nMatched", w.n["update"], "nModified", w.modified, "nUpserted", nUpserted,
			"nDeleted", w.n["delete"])...), nil
	}
	reply := bsondoc.D("n", w.n[q.Command]+nUpserted)
	if nUpserted > 0 {
		reply = append(reply, bsondoc.D("upserted", w.upserted)...)
	}
	if nErrors > 0 {
		reply = append(reply, bsondoc.D("writeErrors", w.writeErrors)...)
	}
	if q.Command == "update" {
		reply = append(reply, bsondoc.D("nModified", w.modified)...)
	}
	return reply, nil
}

func (s *store) findAndModify(q *query) (result, *failure) {
	one := statement{kind: "update", namespace: q.namespace(), Filter: q.Query, Upsert: q.Upsert}
	one.Change, _ = q.Update.DocumentOK()
	o, failed := s.apply(q, one)
	last := bsondoc.D("n", o.n, "updatedExisting", o.n > 0)
	if o.upserted != nil {
		last = bsondoc.D("n", int32(1), "updatedExisting", false, "upserted", o.upserted)
	}
	value := bson.RawValue{Type: bson.TypeEmbeddedDocument, Value: o.before}
	if q.New {
		value.Value = o.after
	}
	if value.Value == nil {
		value.Type = bson.TypeNull
	}
	return bsondoc.D("lastErrorObject", last, "value", value), failed
}

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

// Drop removes a collection.
func (s *store) Drop(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.collections, namespace)
}

// Put inserts a document, or replaces it.
func (s *store) Put(namespace string, doc any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	raw := bsondoc.Marshal(doc)
	s.collection(namespace).put(raw.Lookup("_id"), raw)
}
