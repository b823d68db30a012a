package virtual

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/xdg-go/scram"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/servererror"
	"mongofork/lab/internal/topology"
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
	events        []change // of change streams
	changed       chan struct{}
	unstarted     int // commands of transactions that have not been started there
	conversations map[*proxy.Client]*scram.ServerConversation
	authenticated map[*proxy.Client]bool
}

func newStore(spec topology.Spec, opts Options) *store {
	return &store{spec: spec, opts: opts, collections: map[string]*collection{}, sessions: map[string]*session{},
		cursors: map[int64]*cursor{}, changed: make(chan struct{}), conversations: map[*proxy.Client]*scram.ServerConversation{},
		authenticated: map[*proxy.Client]bool{}}
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
	supported := proxy.Compressors(q.Client.Compressors)
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

// session is a logical session: its latest transaction, or its latest retryable write with the reply to it.
type session struct {
	number int64
	host   string // that began the transaction
	state  state
	undo   []func() // reverts the transaction's writes, the last one first
	write  result   // of a retryable write that was executed
}

type state int

const (
	none state = iota
	inProgress
	committed
	aborted
)

// inSession runs a command by the rules for transactions and retryable writes: a write that is sent again is not executed again.
func (s *store) inSession(q *query) (result, *failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	needless := s.opts.Auth == nil || proxy.IsHello(q.Command) || strings.HasPrefix(q.Command, "sasl")
	if !needless && !s.authenticated[q.Client] {
		return nil, servererror.Errorf(13, "Command %s requires authentication", q.Command)
	}
	if q.Number == nil {
		return s.execute(q)
	}
	number, key := *q.Number, string(q.Session)
	current := s.sessions[key]
	if current == nil {
		current = &session{number: -1}
		s.sessions[key] = current
	}
	if number < current.number {
		return nil, servererror.Errorf(225, "transaction %d is older than the session's latest, %d", number, current.number)
	}
	if q.Autocommit != nil {
		return s.inTransaction(q, current, number)
	}
	if number == current.number && current.write != nil {
		return slices.Clone(current.write), nil
	}
	current.abort()
	*current = session{number: number}
	reply, failed := s.execute(q)
	if failed == nil {
		current.write = slices.Clone(reply)
	}
	return reply, failed
}

// inTransaction runs a command of a transaction of several commands. The store is locked.
func (s *store) inTransaction(q *query, current *session, number int64) (result, *failure) {
	if q.StartTransaction {
		if number == current.number && current.state != none {
			return nil, servererror.Errorf(117, "transaction %d has already been started", number)
		}
		current.abort()
		*current = session{number: number, host: q.host, state: inProgress}
	}
	ends := strings.HasSuffix(q.Command, "Transaction") // at any router, with a recovery token
	if number > current.number && q.Command != "abortTransaction" || q.host != current.host && s.spec.Routes() && !ends {
		s.unstarted++
	}
	if number != current.number || current.state == none || current.state == aborted {
		return nil, servererror.Errorf(servererror.CodeNoSuchTransaction, "no such transaction is in progress")
	}
	switch {
	case q.Command == "commitTransaction":
		current.state, current.undo = committed, nil
		return nil, nil
	case current.state == committed:
		return nil, servererror.Errorf(256, "transaction %d has been committed", number)
	case q.Command == "abortTransaction":
		current.abort()
		return nil, nil
	}
	q.transaction = current
	reply, failed := s.execute(q)
	if failed != nil {
		current.abort()
	}
	return reply, failed
}

// abort ends the transaction that is in progress, if there is one. The store is locked.
func (t *session) abort() {
	if t.state != inProgress {
		return
	}
	for _, undo := range slices.Backward(t.undo) {
		undo()
	}
	t.state, t.undo = aborted, nil
}

func (s *store) endSessions(q *query) (result, *failure) {
	for _, ended := range q.EndSessions {
		if current := s.sessions[string(ended)]; current != nil {
			current.abort()
		}
	}
	return nil, nil
}

// Transactions returns how many have neither been committed nor aborted, and how many commands were of one that had not been started there.
func (s *store) Transactions() (open, unstarted int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, session := range s.sessions {
		if session.state == inProgress {
			open++
		}
	}
	return open, s.unstarted
}

// What clients authenticate with: a name and a password, or a token.
const User, Password, Token = "user", "secret", "token" //nolint:revive // of one client

// Credential returns what clients authenticate with, by a mechanism; if it is empty, that is the one that the server offers.
func Credential(mechanism string) options.Credential {
	if mechanism == "MONGODB-OIDC" {
		return options.Credential{AuthMechanism: mechanism,
			OIDCMachineCallback: func(context.Context, *options.OIDCArgs) (*options.OIDCCredential, error) {
				return &options.OIDCCredential{AccessToken: Token}, nil
			}}
	}
	return options.Credential{AuthMechanism: mechanism, Username: User, Password: Password}
}

// Auth is how servers let clients authenticate, by SCRAM-SHA-256, PLAIN or MONGODB-OIDC.
type Auth struct {
	Speculative bool // whether a hello is answered together with the first step of the conversation in it
	Exchange    bool // whether SCRAM ends with an empty exchange, which clients offer to skip
}

// scramServer knows the user's credentials, by SCRAM-SHA-256.
var scramServer = sync.OnceValue(func() *scram.Server {
	client, err := scram.SHA256.NewClient(User, Password, "")
	if err != nil {
		panic(err)
	}
	server, err := scram.SHA256.NewServer(func(string) (scram.StoredCredentials, error) {
		return client.GetStoredCredentialsWithError(scram.KeyFactors{Salt: "saltsalt", Iters: 4096}) // which it keeps
	})
	if err != nil {
		panic(err)
	}
	return server.WithNonceGenerator(func() string { return "server" })
})

// conversation is a step of one, in a command or in a hello.
type conversation struct {
	Mechanism string
	Payload   bson.Binary
}

func (s *store) authenticate(q *query) (result, *failure) { return s.step(q.Client, q.Step) }

// step carries out a step of a conversation.
func (s *store) step(client *proxy.Client, c conversation) (result, *failure) {
	if c.Mechanism == "SCRAM-SHA-256" {
		s.conversations[client] = scramServer().NewConversation()
	}
	valid, done, text := false, true, ""
	switch begun := s.conversations[client]; {
	case c.Mechanism == "PLAIN":
		valid = string(c.Payload.Data) == "\x00"+User+"\x00"+Password
	case c.Mechanism == "MONGODB-OIDC" || begun == nil:
		token, sent := bson.Raw(c.Payload.Data).Lookup("jwt").StringValueOK()
		valid, done = strings.HasPrefix(token, Token) || !sent, sent
		if !sent { // a human's client asks first who gives tokens
			text = string(bsondoc.Marshal(bsondoc.D("issuer", "https://issuer.example", "clientId", "client")))
		}
	case begun.Done():
		valid = begun.Valid()
	default:
		reply, err := begun.Step(string(c.Payload.Data))
		text, valid, done = reply, err == nil, begun.Done() && begun.Valid() && !s.opts.Auth.Exchange
	}
	if !valid {
		return nil, servererror.Errorf(18, "Authentication failed.")
	}
	s.authenticated[client] = done
	return bsondoc.D("conversationId", int32(1), "done", done, "payload", bson.Binary{Data: []byte(text)}), nil
}

// cursor is what is left of a query's result, or a change stream.
type cursor struct {
	id              int64
	host, namespace string
	rest            []bson.Raw
	stream          bool
	stays           bool // open without a rest: a change stream, or a tailable cursor
	next            int  // of a change stream: the number of its next event
}

// open returns the first batch of a result, and keeps the rest. A single batch is the last one.
func (s *store) open(q *query, c cursor) result {
	c.host, c.stays = q.host, c.stream || q.Tailable
	size := q.Cursor.BatchSize
	switch {
	case q.Command == "find":
		size = q.BatchSize
	case q.Command == "bulkWrite" && s.opts.Batch > 0:
		size = 1
	}
	first := c.take(s.events, size)
	if (len(c.rest) > 0 || c.stays) && !q.SingleBatch {
		s.lastCursor++
		c.id = s.lastCursor
		s.cursors[c.id] = &c
		if s.spec.Kind == topology.LoadBalanced {
			context.AfterFunc(q.ctx, func() { // with its connection
				s.mu.Lock()
				defer s.mu.Unlock()
				delete(s.cursors, c.id)
			})
		}
	}
	if q.ReadConcern.Level == "snapshot" && q.transaction == nil {
		return c.batch("firstBatch", first, bsondoc.D("atClusterTime", now())...)
	}
	return c.batch("firstBatch", first)
}

// take removes the next documents of a cursor, which are those of a change stream's events if it is one.
func (c *cursor) take(events []change, size int) (docs []bson.Raw) {
	if !c.stream {
		n := min(size, len(c.rest))
		docs, c.rest = c.rest[:n], c.rest[n:]
		return docs
	}
	for ; c.next < len(events) && len(docs) < size; c.next++ {
		if events[c.next].namespace == c.namespace {
			docs = append(docs, events[c.next].doc)
		}
	}
	return docs
}

// batch returns a reply with documents.
func (c *cursor) batch(name string, docs []bson.Raw, more ...bson.E) result {
	if c.stream {
		more = append(more, bsondoc.D("postBatchResumeToken", resumeToken(c.next))...)
	}
	return bsondoc.D("cursor", append(bsondoc.D("id", c.id, "ns", c.namespace, name, append([]bson.Raw{}, docs...)), more...))
}

// getMore returns the next batch of a cursor. If there is none yet, it waits for events, while the client does.
func (s *store) getMore(q *query) (result, *failure) {
	waiting, stop := context.WithTimeout(q.ctx, time.Duration(q.MaxTime)*time.Millisecond)
	defer stop()
	for {
		c := s.cursors[q.GetMore]
		if c == nil || c.host != q.host {
			return nil, servererror.Errorf(43, "cursor id %d not found", q.GetMore)
		}
		docs := c.take(s.events, q.BatchSize)
		if len(docs) > 0 || !c.stays || waiting.Err() != nil {
			if len(c.rest) == 0 && !c.stays {
				delete(s.cursors, c.id)
				c.id = 0
			}
			return c.batch("nextBatch", docs), nil
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-waiting.Done():
		}
		s.mu.Lock()
	}
}

func (s *store) killCursors(q *query) (result, *failure) {
	for _, id := range q.Cursors {
		delete(s.cursors, id)
	}
	none := bson.A{}
	return bsondoc.D("cursorsKilled", q.Cursors, "cursorsNotFound", none, "cursorsAlive", none, "cursorsUnknown", none), nil
}

// change is what change streams report.
type change struct {
	namespace string
	doc       bson.Raw
}

func resumeToken(next int) bson.D { return bsondoc.D("next", int64(next)) }

// report adds an event. The store is locked.
func (s *store) report(namespace, kind string, id bson.RawValue) {
	database, collection, _ := strings.Cut(namespace, ".")
	s.events = append(s.events, change{namespace, bsondoc.Marshal(bsondoc.D("_id", resumeToken(len(s.events)+1), "operationType", kind,
		"clusterTime", now(), "ns", bsondoc.D("db", database, "coll", collection), "documentKey", bsondoc.D("_id", id)))})
	close(s.changed)
	s.changed = make(chan struct{})
}

// watch opens a change stream.
func (s *store) watch(q *query, stage bson.Raw) (result, *failure) {
	c := cursor{namespace: q.namespace(), stream: true, next: len(s.events)}
	for _, key := range []string{"resumeAfter", "startAfter"} {
		if next, ok := stage.Lookup(key, "next").AsInt64OK(); ok {
			c.next = int(next)
		}
	}
	if t, i, ok := stage.Lookup("startAtOperationTime").TimestampOK(); ok {
		at := bson.Timestamp{T: t, I: i}
		c.next = sort.Search(len(s.events), func(n int) bool {
			t, i := s.events[n].doc.Lookup("clusterTime").Timestamp()
			return !bson.Timestamp{T: t, I: i}.Before(at)
		})
	}
	return s.open(q, c), nil
}

// Cursors returns how many cursors of a namespace are open; of any if it is empty.
func (c *Cluster) Cursors(namespace string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, open := range c.cursors {
		if namespace == "" || open.namespace == namespace {
			n++
		}
	}
	return n
}
