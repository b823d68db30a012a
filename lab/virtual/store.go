package virtual

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/servererror"
	"mongofork/lab/internal/topology"
	"mongofork/lab/internal/wire"
)

// store is the data of a cluster. All its servers share it: nothing lags behind, and nothing is rolled back.
type store struct {
	logical  bool // whether replies have logical times
	router   bool // whether the servers are routers
	services int  // behind a load balancer
	batch    int  // how many statements a write may have; 0 for very many
	auth     *authentication

	mu          sync.Mutex
	collections map[string]*collection // by namespace
	sessions    map[string]*session    // by the bytes of the lsid
	cursors     map[int64]*cursor
	lastCursor  int64
	events      []event // of change streams
	changed     chan struct{}
	unstarted   int // commands of transactions that have not been started
}

func newStore(spec topology.Spec, opts Options) *store {
	services := 1
	if spec.Kind == topology.LoadBalanced {
		services = spec.Members
	}
	return &store{
		logical: spec.Kind != topology.Standalone, router: spec.Routes(), services: services, batch: opts.Batch,
		auth: newAuthentication(opts.Auth), collections: map[string]*collection{}, sessions: map[string]*session{},
		cursors: map[int64]*cursor{}, changed: make(chan struct{}),
	}
}

// query is a command that the store runs.
type query struct {
	// host is also the service behind a load balancer, which a connection leads to.
	host, name, database string
	connection           string
	compressors          []string
	doc                  bson.Raw
	transaction          *session // in which it runs, or nil
}

// namespace returns the namespace of the collection that the command's first field names.
func (q *query) namespace() string {
	collection, _ := q.doc.Index(0).Value().StringValueOK()
	return q.database + "." + collection
}

func (q *query) text(key string) string {
	text, _ := q.doc.Lookup(key).StringValueOK()
	return text
}

// array returns the values of a field, none if it is missing.
func (q *query) array(key string) []bson.RawValue { return values(q.doc.Lookup(key)) }

func values(value bson.RawValue) []bson.RawValue {
	array, _ := value.ArrayOK()
	found, _ := array.Values()
	return found
}

// number returns a field's number, or another one if it is missing.
func number(doc bson.Raw, key string, otherwise int64) int64 {
	if n, ok := bsondoc.Int64(doc.Lookup(key)); ok {
		return n
	}
	return otherwise
}

// result is the reply to a command that succeeded, without ok.
type result = bson.D

type failure = servererror.Error

// doc returns the document of some keys, each before its value.
func doc(keysAndValues ...any) (doc bson.D) {
	for i := 0; i < len(keysAndValues); i += 2 {
		doc = append(doc, bson.E{Key: keysAndValues[i].(string), Value: keysAndValues[i+1]})
	}
	return doc
}

// run answers a command. The error is the context's.
func (s *store) run(ctx context.Context, host string, req *proxy.Request) (bson.Raw, error) {
	q := &query{
		host: fmt.Sprint(host, "/", req.Client.ID%uint64(s.services)), name: req.Command, database: req.Database,
		connection: fmt.Sprint(host, "/", req.Client.ID), compressors: req.Client.Compressors, doc: req.Message.Whole(),
	}
	var reply bson.D
	var err error
	failed := s.auth.refuse(q)
	switch {
	case failed != nil: // it is the reply
	case q.name == "getMore":
		reply, failed, err = s.getMore(ctx, q)
	default:
		reply, failed = s.inSession(q)
	}
	if err != nil {
		return nil, err
	}
	if failed != nil {
		if failed.Labels == nil {
			failed.Labels = servererror.Labels(q.doc, failed.Code, 0, s.router)
		}
		reply = failed.Document()
	} else {
		reply = append(reply, bson.E{Key: "ok", Value: 1.0})
	}
	if s.logical {
		now := s.now()
		reply = append(reply, doc("$clusterTime", doc("clusterTime", now), "operationTime", now)...)
	}
	return bson.Marshal(reply)
}

// now is the logical time.
func (s *store) now() bson.Timestamp { return bson.Timestamp{T: uint32(time.Now().Unix()), I: 1} }

// commands are what servers execute. The table is read only.
var commands = map[string]func(*store, *query) (result, *failure){
	"hello": (*store).hello, "isMaster": (*store).hello, "ismaster": (*store).hello, "find": (*store).find, "count": (*store).count,
	"aggregate": (*store).aggregate, "distinct": (*store).distinct, "insert": (*store).writes, "update": (*store).writes,
	"delete": (*store).writes, "findAndModify": (*store).findAndModify, "bulkWrite": (*store).writes,
	"killCursors": (*store).killCursors, "listCollections": (*store).list, "listIndexes": (*store).list, "drop": (*store).drop,
	"saslStart": (*store).authenticate, "saslContinue": (*store).authenticate, "listDatabases": (*store).listDatabases,
	"ping": (*store).succeed, "create": (*store).succeed, "createIndexes": (*store).succeed, "dropIndexes": (*store).succeed,
	"dropDatabase": (*store).succeed, "endSessions": (*store).succeed, "killAllSessions": (*store).succeed,
}

// execute runs a command that neither begins nor ends a transaction. The store is locked.
func (s *store) execute(q *query) (result, *failure) {
	if run := commands[q.name]; run != nil {
		return run(s, q)
	}
	return nil, servererror.Errorf(servererror.CodeCommandNotFound, "no such command: '%s'", q.name)
}

func (s *store) succeed(*query) (result, *failure) { return nil, nil }

func (s *store) count(q *query) (result, *failure) {
	found, failed := s.matching(q.namespace(), document(q.doc, "query"))
	return doc("n", int32(len(found))), failed
}

func (s *store) listDatabases(*query) (result, *failure) {
	return doc("databases", bson.A{doc("name", "db", "sizeOnDisk", int64(1), "empty", false)}, "totalSize", int64(1)), nil
}

func (s *store) list(q *query) (result, *failure) {
	return s.open(q, q.database+".$cmd."+q.name, []bson.Raw{marshal(doc("name", "_id_", "key", doc("_id", 1), "v", 2))}, false), nil
}

func (s *store) drop(q *query) (result, *failure) {
	delete(s.collections, q.namespace())
	return nil, nil
}

func (s *store) authenticate(q *query) (result, *failure) { return s.auth.step(q, q.doc) }

// hello returns what does not depend on the server's place in the deployment.
func (s *store) hello(q *query) (result, *failure) {
	reply := doc("maxBsonObjectSize", int32(16<<20), "maxMessageSizeBytes", int32(48_000_000),
		"maxWriteBatchSize", int32(cmp.Or(s.batch, 100_000)), "localTime", time.Now(), "logicalSessionTimeoutMinutes", int32(30),
		"connectionId", int32(1), "minWireVersion", int32(0), "maxWireVersion", int32(27), "readOnly", false)
	if s.logical {
		reply = append(reply, bson.E{Key: "lastWrite",
			Value: doc("opTime", doc("ts", s.now(), "t", int64(1)), "lastWriteDate", time.Now())})
	}
	if supported := wire.Compressors(q.compressors); len(supported) > 0 {
		reply = append(reply, bson.E{Key: "compression", Value: supported[:1]})
	}
	return append(reply, s.auth.hello(q)...), nil
}

// cursor is what is left of a query's result, or a change stream, or a tailable cursor, which stays open without any.
type cursor struct {
	host, namespace string
	rest            []bson.Raw
	stream          bool
	tailable        bool
	next            int // of a change stream: the number of its next event
}

// open returns the first batch of a result, and keeps the rest. A single batch is the last one.
func (s *store) open(q *query, namespace string, docs []bson.Raw, single bool) result {
	size := number(q.doc, "batchSize", number(document(q.doc, "cursor"), "batchSize", 101))
	if q.name == "bulkWrite" && s.batch > 0 {
		size = 1
	}
	first := docs[:min(int(size), len(docs))]
	id, tailable := int64(0), bsondoc.IsTrue(q.doc.Lookup("tailable"))
	if rest := docs[len(first):]; (len(rest) > 0 || tailable) && !single {
		id = s.keep(&cursor{host: q.host, namespace: namespace, rest: rest, tailable: tailable})
	}
	if level, _ := document(q.doc, "readConcern").Lookup("level").StringValueOK(); level == "snapshot" && q.transaction == nil {
		return batch("firstBatch", id, namespace, first, bson.E{Key: "atClusterTime", Value: s.now()})
	}
	return batch("firstBatch", id, namespace, first)
}

func (s *store) keep(c *cursor) int64 {
	s.lastCursor++
	s.cursors[s.lastCursor] = c
	return s.lastCursor
}

func batch(name string, id int64, namespace string, docs []bson.Raw, more ...bson.E) result {
	if docs == nil {
		docs = []bson.Raw{}
	}
	return doc("cursor", append(doc("id", id, "ns", namespace, name, docs), more...))
}

// getMore returns the next batch of a cursor. A change stream waits for events.
func (s *store) getMore(ctx context.Context, q *query) (result, *failure, error) {
	id := number(q.doc, "getMore", 0)
	size := int(number(q.doc, "batchSize", 1<<20))
	patience := time.NewTimer(time.Duration(number(q.doc, "maxTimeMS", 1000)) * time.Millisecond)
	defer patience.Stop()
	for waited := false; ; {
		s.mu.Lock()
		c := s.cursors[id]
		if c == nil || c.host != q.host {
			s.mu.Unlock()
			return nil, servererror.Errorf(43, "cursor id %d not found", id), nil
		}
		events, changed := s.events, s.changed
		if !c.stream && (!c.tailable || waited || len(c.rest) > 0) {
			n := min(size, len(c.rest))
			docs := c.rest[:n]
			if c.rest = c.rest[n:]; len(c.rest) == 0 && !c.tailable {
				delete(s.cursors, id)
				id = 0
			}
			s.mu.Unlock()
			return batch("nextBatch", id, c.namespace, docs), nil, nil
		}
		docs := c.poll(events, size)
		token := resumeToken(c.next)
		s.mu.Unlock()
		if len(docs) > 0 || waited {
			return batch("nextBatch", id, c.namespace, docs, bson.E{Key: "postBatchResumeToken", Value: token}), nil, nil
		}
		select {
		case <-changed:
		case <-patience.C:
			waited = true
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
}

func (s *store) killCursors(q *query) (result, *failure) {
	killed, missing := bson.A{}, bson.A{}
	for _, value := range q.array("cursors") {
		id, _ := bsondoc.Int64(value)
		if s.cursors[id] == nil {
			missing = append(missing, id)
			continue
		}
		delete(s.cursors, id)
		killed = append(killed, id)
	}
	return doc("cursorsKilled", killed, "cursorsNotFound", missing, "cursorsAlive", bson.A{}, "cursorsUnknown", bson.A{}), nil
}

// event is a change that change streams report.
type event struct {
	namespace string
	doc       bson.Raw
}

func resumeToken(next int) bson.D { return doc("next", int64(next)) }

// report adds an event. The store is locked.
func (s *store) report(namespace, kind string, id bson.RawValue) {
	database, collection, _ := strings.Cut(namespace, ".")
	s.events = append(s.events, event{namespace, marshal(doc("_id", resumeToken(len(s.events)+1), "operationType", kind,
		"clusterTime", s.now(), "ns", doc("db", database, "coll", collection), "documentKey", doc("_id", id)))})
	close(s.changed)
	s.changed = make(chan struct{})
}

// poll returns the events of a change stream's namespace that it has not returned yet. The store is locked.
func (c *cursor) poll(events []event, size int) []bson.Raw {
	var docs []bson.Raw
	for ; c.next < len(events) && len(docs) < size; c.next++ {
		if events[c.next].namespace == c.namespace {
			docs = append(docs, events[c.next].doc)
		}
	}
	return docs
}

// watch opens a change stream.
func (s *store) watch(q *query, stage bson.Raw) (result, *failure) {
	c := &cursor{host: q.host, namespace: q.namespace(), stream: true, next: len(s.events)}
	for _, key := range []string{"resumeAfter", "startAfter"} {
		if token, ok := stage.Lookup(key).DocumentOK(); ok {
			c.next = int(number(token, "next", 0))
		}
	}
	docs := c.poll(s.events, int(number(document(q.doc, "cursor"), "batchSize", 101)))
	token := bson.E{Key: "postBatchResumeToken", Value: resumeToken(c.next)}
	return batch("firstBatch", s.keep(c), c.namespace, docs, token), nil
}

func document(doc bson.Raw, key string) bson.Raw {
	found, _ := doc.Lookup(key).DocumentOK()
	return found
}

// marshal encodes what always can be encoded.
func marshal(doc any) bson.Raw {
	raw, err := bson.Marshal(doc)
	if err != nil {
		panic(err)
	}
	return raw
}

func (s *store) document(namespace string, id any) bson.Raw {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind, data, err := bson.MarshalValue(id)
	if err != nil {
		panic(err)
	}
	return s.collection(namespace).get(bson.RawValue{Type: kind, Value: data})
}

func (s *store) put(namespace string, doc bson.Raw) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.collection(namespace).put(doc.Lookup("_id"), doc)
}

// transactions counts those that are open, and the commands of those that have not been started.
func (s *store) transactions() (open, unstarted int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, session := range s.sessions {
		if session.state == inProgress {
			open++
		}
	}
	return open, s.unstarted
}

// aggregate runs the pipelines of change streams and of counts; other stages let all documents pass.
func (s *store) aggregate(q *query) (result, *failure) {
	var filter bson.Raw
	stages := q.array("pipeline")
	for i, value := range stages {
		stage, _ := value.DocumentOK()
		switch bsondoc.FirstKey(stage) {
		case "$changeStream":
			return s.watch(q, document(stage, "$changeStream"))
		case "$match":
			filter = document(stage, "$match")
		case "$group":
			found, failed := s.matching(q.namespace(), filter)
			if failed != nil || len(found) == 0 {
				return s.open(q, q.namespace(), nil, true), failed
			}
			return s.open(q, q.namespace(), []bson.Raw{marshal(doc("_id", 1, "n", int32(len(found))))}, true), nil
		case "$out":
			found, failed := s.matching(q.namespace(), filter)
			if failed != nil || i != len(stages)-1 {
				return nil, failed
			}
			into, _ := stage.Lookup("$out").StringValueOK()
			s.collections[q.database+"."+into] = newCollection(found)
			return s.open(q, q.namespace(), nil, true), nil
		}
	}
	found, failed := s.matching(q.namespace(), filter)
	return s.open(q, q.namespace(), found, false), failed
}

func (s *store) find(q *query) (result, *failure) {
	found, failed := s.matching(q.namespace(), document(q.doc, "filter"))
	if limit := int(number(q.doc, "limit", 0)); limit > 0 && limit < len(found) {
		found = found[:limit]
	}
	return s.open(q, q.namespace(), found, bsondoc.IsTrue(q.doc.Lookup("singleBatch"))), failed
}

func (s *store) distinct(q *query) (result, *failure) {
	found, failed := s.matching(q.namespace(), document(q.doc, "query"))
	distinct := []bson.RawValue{}
	for _, doc := range found {
		value, err := doc.LookupErr(q.text("key"))
		if err == nil && !slices.ContainsFunc(distinct, value.Equal) {
			distinct = append(distinct, value)
		}
	}
	return doc("values", distinct), failed
}
