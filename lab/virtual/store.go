package virtual

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/xdg-go/scram"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/servererror"
	"mongofork/lab/internal/topology"
	"mongofork/lab/internal/wire"
)

// store is the data of a cluster. All its servers share it: nothing lags behind, and nothing is rolled back.
type store struct {
	spec topology.Spec
	opts Options

	mu            sync.Mutex
	collections   map[string]*collection // by namespace
	sessions      map[string]*session    // by the bytes of the lsid
	cursors       map[int64]*cursor
	lastCursor    int64
	events        []event // of change streams
	changed       chan struct{}
	unstarted     int // commands of transactions that have not been started there
	conversations map[*proxy.Client]*scram.ServerConversation
	authenticated map[*proxy.Client]bool
}

func newStore(spec topology.Spec, opts Options) *store {
	return &store{
		spec: spec, opts: opts, collections: map[string]*collection{}, sessions: map[string]*session{},
		cursors: map[int64]*cursor{}, changed: make(chan struct{}),
		conversations: map[*proxy.Client]*scram.ServerConversation{}, authenticated: map[*proxy.Client]bool{},
	}
}

// result is the reply to a command that succeeded, without ok.
type result = bson.D

type failure = servererror.Error

// run answers a command.
func (s *store) run(ctx context.Context, host string, req *proxy.Request) bson.Raw {
	var reply result
	q, failed := s.newQuery(ctx, host, req)
	if failed == nil {
		reply, failed = s.inSession(q)
	}
	answer := servererror.OK(reply...)
	if failed != nil {
		if failed.Labels == nil {
			failed.Labels = servererror.Labels(q.doc, failed.Code, 0, s.spec.Routes())
		}
		answer = failed.Reply()
	}
	if s.spec.Kind != topology.Standalone {
		answer = bsondoc.With(answer, bsondoc.D("$clusterTime", bsondoc.D("clusterTime", now()), "operationTime", now())...)
	}
	return answer
}

// now is the logical time.
func now() bson.Timestamp { return bson.Timestamp{T: uint32(time.Now().Unix()), I: 1} }

// commands are what servers execute. The table is read only.
var commands = map[string]func(*store, *query) (result, *failure){
	"hello": (*store).hello, "isMaster": (*store).hello, "ismaster": (*store).hello, "find": (*store).find, "count": (*store).count,
	"aggregate": (*store).aggregate, "distinct": (*store).distinct, "insert": (*store).writes, "update": (*store).writes,
	"delete": (*store).writes, "findAndModify": (*store).findAndModify, "bulkWrite": (*store).writes,
	"killCursors": (*store).killCursors, "listCollections": (*store).list, "listIndexes": (*store).list,
	"saslStart": (*store).authenticate, "saslContinue": (*store).authenticate,
	"listDatabases": (*store).listDatabases,
	"ping":          (*store).succeed, "create": (*store).succeed, "createIndexes": (*store).succeed, "dropIndexes": (*store).succeed,
	"endSessions": (*store).endSessions, "getMore": (*store).getMore, "drop": (*store).drop, "dropDatabase": (*store).drop,
	"createSearchIndexes": (*store).createSearchIndexes, "updateSearchIndex": (*store).succeed, "dropSearchIndex": (*store).succeed,
}

// execute runs a command that neither begins nor ends a transaction. The store is locked.
func (s *store) execute(q *query) (result, *failure) {
	if run := commands[q.Command]; run != nil {
		return run(s, q)
	}
	return nil, servererror.Errorf(servererror.CodeCommandNotFound, "no such command: '%s'", q.Command)
}

func (s *store) succeed(*query) (result, *failure) { return nil, nil }

// createSearchIndexes names what it creates.
func (s *store) createSearchIndexes(q *query) (result, *failure) {
	created := bson.A{}
	for _, index := range q.Indexes {
		created = append(created, bsondoc.D("id", "1", "name", index.Lookup("name")))
	}
	return bsondoc.D("indexesCreated", created), nil
}

// drop removes the collections of a database, or the one that the command names.
func (s *store) drop(q *query) (result, *failure) {
	for namespace := range s.collections {
		if namespace == q.namespace() || q.Command == "dropDatabase" && strings.HasPrefix(namespace, q.Database+".") {
			delete(s.collections, namespace)
		}
	}
	return nil, nil
}

// hello returns what does not depend on the server's place in the deployment.
func (s *store) hello(q *query) (result, *failure) {
	reply := bsondoc.D("maxBsonObjectSize", int32(16<<20), "maxMessageSizeBytes", int32(48_000_000),
		"maxWriteBatchSize", int32(cmp.Or(s.opts.Batch, 100_000)), "logicalSessionTimeoutMinutes", int32(30),
		"connectionId", int32(1), "minWireVersion", int32(0), "maxWireVersion", int32(27),
		"lastWrite", bsondoc.D("lastWriteDate", time.Now()))
	supported := wire.Compressors(q.Client.Compressors)
	if len(supported) > 0 {
		reply = append(reply, bsondoc.D("compression", supported[:1])...)
	}
	if q.Mechanisms != "" {
		reply = append(reply, bsondoc.D("saslSupportedMechs", bson.A{"SCRAM-SHA-256"})...)
	}
	if q.Speculative != nil && s.opts.Auth != nil && s.opts.Auth.Speculative {
		if step, failed := s.step(q.Client, *q.Speculative); failed == nil {
			reply = append(reply, bsondoc.D("speculativeAuthenticate", step)...)
		}
	}
	return reply, nil
}

func (s *store) listDatabases(*query) (result, *failure) {
	return bsondoc.D("databases", bson.A{bsondoc.D("name", "db", "sizeOnDisk", int64(1), "empty", false)}, "totalSize", int64(1)), nil
}

func (s *store) list(q *query) (result, *failure) {
	var listed []bson.Raw
	for _, field := range []string{"_id", "x"} {
		listed = append(listed, bsondoc.Marshal(bsondoc.D("name", field+"_", "key", bsondoc.D(field, 1), "v", 2)))
	}
	return s.open(q, cursor{namespace: q.Database + ".$cmd." + q.Command, rest: listed}), nil
}

func (s *store) find(q *query) (result, *failure) {
	found := s.matching(q.namespace(), q.Filter)
	if q.Limit > 0 && q.Limit < len(found) {
		found = found[:q.Limit]
	}
	return s.open(q, cursor{namespace: q.namespace(), rest: found}), nil
}

func (s *store) count(q *query) (result, *failure) {
	return bsondoc.D("n", int32(len(s.matching(q.namespace(), q.Query)))), nil
}

func (s *store) distinct(q *query) (result, *failure) {
	distinct := []bson.RawValue{}
	for _, doc := range s.matching(q.namespace(), q.Query) {
		value, err := doc.LookupErr(q.Key)
		if err == nil && !slices.ContainsFunc(distinct, value.Equal) {
			distinct = append(distinct, value)
		}
	}
	return bsondoc.D("values", distinct), nil
}

// aggregate runs the pipelines of change streams and of counts, and what writes to a collection; other stages let all documents pass.
func (s *store) aggregate(q *query) (result, *failure) {
	found := s.matching(q.namespace(), nil)
	for _, stage := range q.Pipeline {
		name, argument := bsondoc.FirstKey(stage), stage.Index(0).Value()
		switch name {
		case "$changeStream":
			return s.watch(q, argument.Document())
		case "$match":
			found = s.matching(q.namespace(), argument.Document())
		case "$group":
			if len(found) > 0 {
				found = []bson.Raw{bsondoc.Marshal(bsondoc.D("_id", 1, "n", int32(len(found))))}
			}
		case "$out":
			s.collections[q.Database+"."+argument.StringValue()] = newCollection(found)
			found = nil
		}
	}
	return s.open(q, cursor{namespace: q.namespace(), rest: found}), nil
}

// query is a command that the store runs.
type query struct {
	*proxy.Request
	ctx         context.Context // of the connection
	host        string          // also the service behind a load balancer, which a connection leads to
	doc         bson.Raw        // the command with the documents that were sent beside it
	transaction *session        // in which it runs, or nil
	arguments
}

// arguments are the fields that commands have. A name without a tag stands for that in lower case.
type arguments struct {
	Session          bson.Raw   `bson:"lsid"`
	Number           *int64     `bson:"txnNumber"`
	Autocommit       *bool      // which commands of transactions have
	StartTransaction bool       `bson:"startTransaction"`
	EndSessions      []bson.Raw `bson:"endSessions"`
	ReadConcern      struct{ Level string }
	MaxTime          int64 `bson:"maxTimeMS"`

	Filter, Query bson.Raw
	Pipeline      []bson.Raw
	Key           string
	Limit         int
	SingleBatch   bool `bson:"singleBatch"`
	Tailable      bool // as a cursor
	BatchSize     int  `bson:"batchSize"`
	Cursor        struct {
		BatchSize int `bson:"batchSize"`
	} // of an aggregate
	GetMore int64   `bson:"getMore"`
	Cursors []int64 // of killCursors

	Ordered    bool
	ErrorsOnly bool `bson:"errorsOnly"`
	Documents  []bson.Raw
	Updates    []statement
	Deletes    []statement
	Ops        []statement
	Indexes    []bson.Raw
	NSInfo     []struct{ NS string } `bson:"nsInfo"`

	Update      bson.RawValue // of findAndModify
	New, Upsert bool

	Mechanisms  string        `bson:"saslSupportedMechs"`
	Speculative *conversation `bson:"speculativeAuthenticate"`
	Step        conversation  `bson:",inline"`
}

// newQuery decodes a command.
func (s *store) newQuery(ctx context.Context, host string, req *proxy.Request) (*query, *failure) {
	services := 1
	if s.spec.Kind == topology.LoadBalanced {
		services = s.spec.Members
	}
	q := &query{Request: req, ctx: ctx, host: fmt.Sprint(host, "/", req.Client.ID%uint64(services)), doc: req.Message.Whole()}
	q.Ordered, q.MaxTime, q.BatchSize, q.Cursor.BatchSize = true, 1000, 101, 101 // unless the command says otherwise
	if q.Command == "getMore" {
		q.BatchSize = 1 << 20
	}
	if err := bson.Unmarshal(q.doc, &q.arguments); err != nil {
		return q, servererror.Errorf(servererror.CodeTypeMismatch, "%s: %v", q.Command, err)
	}
	return q, nil
}

// namespace returns the namespace of the collection that the command's first field names.
func (q *query) namespace() string {
	collection, _ := q.doc.Index(0).Value().StringValueOK()
	return q.Database + "." + collection
}
