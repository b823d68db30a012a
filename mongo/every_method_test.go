package mongo

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// sendNothing are the exported methods that send no command.
var sendNothing = strings.Fields(`
	ChangeStream.Decode ChangeStream.Err ChangeStream.ID ChangeStream.RemainingBatchLength ChangeStream.ResumeToken
	ChangeStream.SetBatchSize Client.AppendDriverInfo Client.Database Client.NumberSessionsInProgress Client.RetryTokens
	Client.StartSession Client.ThrottleProbabilities Client.Timeout Collection.Clone Collection.Database Collection.Indexes
	Collection.Name Collection.SearchIndexes Cursor.Decode Cursor.Err Cursor.ID Cursor.RemainingBatchLength Cursor.SetBatchSize
	Cursor.SetComment Cursor.SetMaxAwaitTime Database.Client Database.Collection Database.GridFSBucket Database.Name
	Database.ReadConcern Database.ReadPreference Database.WriteConcern GridFSBucket.GetChunksCollection
	GridFSBucket.GetFilesCollection GridFSDownloadStream.GetFile Session.AdvanceClusterTime Session.AdvanceOperationTime
	Session.Client Session.ClusterTime Session.ID Session.OperationTime Session.SnapshotTime Session.StartTransaction
	Session.TransactionRunning SingleResult.Acknowledged SingleResult.Decode SingleResult.Err SingleResult.Raw`)

// TestEveryMethodIsInTheTable fails for a method that is new.
func TestEveryMethodIsInTheTable(t *testing.T) {
	known := map[string]bool{}
	for _, name := range sendNothing {
		known[name] = true
	}
	for _, method := range everySendingMethod() {
		known[method.name] = true
	}
	for _, receiver := range []any{
		&Client{}, &Database{}, &Collection{}, &Cursor{}, &ChangeStream{}, &Session{}, IndexView{}, SearchIndexView{},
		&GridFSBucket{}, &GridFSUploadStream{}, &GridFSDownloadStream{}, &SingleResult{}, &ClientEncryption{},
	} {
		typ := reflect.TypeOf(receiver)
		name := reflect.Indirect(reflect.ValueOf(receiver)).Type().Name()
		for i := 0; i < typ.NumMethod(); i++ {
			method := name + "." + typ.Method(i).Name
			assert.True(t, known[method], "%s is neither in the table of methods that send commands nor in the list of the others", method)
		}
	}
}

// TestEveryOperationPaysForItsRetries: each takes a token.
func TestEveryOperationPaysForItsRetries(t *testing.T) {
	withBucket := func(s *scripted.Script) { s.Policy.Bucket = retry.NewTokenBucket() }
	inEndlessOverload(t, withBucket, func(t *testing.T, s *scripted.Script, _ sendingMethod, _ overloadEnding, _ error) {
		assert.InDelta(t, 1000-float64(len(s.Slept)), s.Policy.Bucket.Tokens(), 0.5)
	})
}

// cleansUp are the commands whose errors the application does not see, unless they are all that a method does.
var cleansUp = map[string]bool{"killCursors": true, "endSessions": true, "abortTransaction": true}

// TestErrorOfEachCommand lets each command of each method fail in turn, on servers that have nothing, or one document in a batch, or one in
// each of two: the method returns the error, with its code, and sends nothing more than what cleans up. A reply that cannot be read is an
// error, too.
func TestErrorOfEachCommand(t *testing.T) {
	for _, has := range []string{"nothing", "a document", "two batches"} {
		for i, method := range append(sendingMethods(), withSeveralCommands...) {
			for failing := 1; ; failing++ {
				s := answeringExcept(t, has, failing, append(scripted.Failure(13, "Label"), bson.E{Key: "codeName", Value: "Unauthorized"}))
				name := fmt.Sprintf("%s/%d on a server that has %s: command %d", method.name, i, has, failing)
				err := method.run(bgCtx, scriptColl(t, s))
				names := commandNames(s)
				if len(names) < failing {
					assert.False(t, closes(method) && has != "nothing" && err != nil, "%s: %v", name, err)
					assert.False(t, closes(method) && has == "two batches" && leavesCursor(s.Sent), "%s leaves a cursor", name)
					assert.False(t, closes(method) && s.Sent[len(s.Sent)-1].Held > 1, "%s holds a connection for another", name)
					break
				}
				failed := names[failing-1]
				if method.silent || cleansUp[failed] && (!closesCursor[method.name] || len(s.Sent) > failing) {
					continue
				}
				server := scripted.As[ServerError](t, err, name, failed)
				assert.True(t, server.HasErrorCode(13), "%s, %s: %v", name, failed, err)
				if command, ok := server.(CommandError); ok {
					told := fmt.Sprintf("%s %s %s %v", command.Name, command.Message, command.Labels, command.Raw.Lookup("code"))
					assert.Equal(t, `Unauthorized scripted [Label] {"$numberInt":"13"}`, told, "%s, %s", name, failed)
				}
				if failed == "getMore" && closes(method) {
					assert.Equal(t, "killCursors", names[len(names)-1], "%s leaves a cursor", name)
				}
				for _, later := range names[failing:] {
					assert.True(t, cleansUp[later] || later == "delete", "%s: %s after the error of %s", name, later, failed)
				}
			}
		}
	}
}

// writesSomething are commands of kind write; those that are neither here nor below are reads.
var writesSomething = regexp.MustCompile(`^(insert|update|delete|findAndModify|bulkWrite|create.*|drop.*|updateSearchIndex)$`)

// permitted reports whether a command is retried if an option is off. Close and Discard of a cursor differ, and endSessions has one rule.
func permitted(command bson.Raw, readsOff bool) (retried, known bool) {
	name := command.Index(0).Key()
	_, err := command.LookupErr("pipeline", "0", "$out")
	switch name {
	case "killCursors", "endSessions":
		return false, false
	case "x", "ping": // of RunCommand
		return false, true
	case "commitTransaction", "abortTransaction":
		return true, true
	}
	return (writesSomething.MatchString(name) || err == nil) == readsOff, true
}

// TestOptionsThatPermitRetries lets a server reject each command of each method in turn, with retryReads or retryWrites off: the command is
// sent again if the option of its kind is on (client-backpressure.md, "Overload retry policy").
func TestOptionsThatPermitRetries(t *testing.T) {
	for i, method := range append(sendingMethods(), withSeveralCommands...) {
		if strings.Contains(method.name, "Create") && strings.Contains(strings.ToLower(method.name), "encrypted") {
			continue // they hold the connection by which they learn the server's version, also in a backoff
		}
		for _, readsOff := range []bool{true, false} {
			for rejecting := 1; ; rejecting++ {
				s := answeringExcept(t, "two batches", rejecting, scripted.Overloaded())
				s.Policy.RetryReads, s.Policy.RetryWrites = !readsOff, readsOff
				err := method.run(bgCtx, scriptColl(t, s))
				if len(s.Sent) < rejecting {
					break
				}
				command := s.Sent[rejecting-1].Command
				if want, known := permitted(command, readsOff); known {
					assert.Equal(t, want, len(s.Slept) == 1, "%s/%d: command %d of %v, retryReads off: %v: %v", method.name, i, rejecting,
						commandNames(s), readsOff, err)
				}
			}
		}
	}
}

// returnsNoCursor are methods that close the cursor, or the last one, that they read from.
var returnsNoCursor = map[string]bool{
	"Collection.CountDocuments": true, "Collection.FindOne": true, "Database.ListCollectionNames": true, "collection info": true,
	"Database.ListCollectionSpecifications": true, "IndexView.ListSpecifications": true, "data keys": true, "Cursor.All": true,
}

func closes(method sendingMethod) bool { return returnsNoCursor[method.name] && topics["iterators"] }

// leavesCursor reports whether the last of the cursors of such a server is not read to its end, nor closed.
func leavesCursor(sent []scripted.Sent) bool {
	last := sent[len(sent)-1].Command.Index(0).Key()
	return last != "getMore" && last != "killCursors"
}

// answering is the reply to a command of a server that has nothing, a document, or two batches of one.
func answering(body bson.Raw, has string) any {
	doc := bson.D{{Key: "_id", Value: 1}, {Key: "name", Value: "a"}, {Key: "key", Value: bson.D{{Key: "x", Value: 1}}}, {Key: "v", Value: 2},
		{Key: "length", Value: 9}, {Key: "chunkSize", Value: 9}, {Key: "filename", Value: "a"}, {Key: "files_id", Value: 1},
		{Key: "n", Value: 0}, {Key: "data", Value: bson.Binary{Data: make([]byte, 9)}}, {Key: "ok", Value: 1}, {Key: "idx", Value: 0}}
	cursor, n := firstBatch(0, doc), 1
	switch command := body.Index(0).Key(); {
	case command == "getMore":
		return scripted.OK(nextBatch(0, doc))
	case command == "hello":
		return scripted.OK()
	case has == "nothing":
		cursor, n = firstBatch(0), 0
	case has == "two batches":
		cursor = firstBatch(7, doc)
	}
	databases, values := bson.E{Key: "databases", Value: bson.A{}}, bson.E{Key: "values", Value: bson.A{}}
	return scripted.OK(cursor, bson.E{Key: "n", Value: n}, databases, values, madeIndex)
}

// answeringExcept returns a script of such a server, which answers the n-th command otherwise.
func answeringExcept(t *testing.T, has string, n int, otherwise any) *scripted.Script {
	s := scripted.New(t)
	s.Rest = func(body bson.Raw) any {
		if len(s.Sent) == n {
			return otherwise
		}
		return answering(body, has)
	}
	return s
}

// withSeveralCommands are methods, and uses of them, that send more than the table of all of them has.
var withSeveralCommands = []sendingMethod{
	{name: "GridFSUploadStream.Close after a Write", run: using(func(_ context.Context, us *GridFSUploadStream) error {
		if _, err := us.Write(make([]byte, 9)); err != nil {
			return err
		}
		return us.Close()
	})},
	{name: "CreateCollection with encrypted fields", run: calling("Database.CreateCollection", "new", encrypted)},
	{name: "Drop of an encrypted collection", run: calling("Collection.Drop", options.DropCollection().SetEncryptedFields(noFields))},
	{name: "data keys", run: func(ctx context.Context, c *Collection) error {
		return second((&keyRetriever{coll: c}).cryptKeys(ctx, emptyDocument))
	}},
	{name: "collection info", run: func(ctx context.Context, c *Collection) error {
		return second((&collInfoRetriever{client: c.client}).cryptCollInfo(ctx, "db", emptyDocument))
	}},
}

// needsContext tells methods in which the driver always needed a context, or that put a session into one.
var needsContext = regexp.MustCompile(`^(ClientEncryption|Client.UseSession|(Search)?IndexView.Create|Session|data keys|collection info)`)

// TestNilContext is about methods that are given no context: they do what they do with one that does not end.
func TestNilContext(t *testing.T) {
	var none context.Context
	for i, method := range append(sendingMethods(), withSeveralCommands...) {
		if needsContext.MatchString(method.name) || strings.Contains(method.name, "Create") && !topics["timeouts"] {
			continue
		}
		var ends, commands [2]string
		for which, ctx := range []context.Context{bgCtx, none} {
			s := lasting(t, func(body bson.Raw) any { return answering(body, "two batches") })
			ends[which] = fmt.Sprint(method.run(ctx, scriptColl(t, s)))
			commands[which] = fmt.Sprint(commandNames(s))
		}
		assert.Equal(t, ends[0], ends[1], "%s/%d", method.name, i)
		assert.Equal(t, commands[0], commands[1], "%s/%d", method.name, i)
	}
}

// TestRetrieversFindAll is about what encryption reads: keys of all batches, and the first collection.
func TestRetrieversFindAll(t *testing.T) {
	for has, want := range map[string]int{"nothing": 0, "a document": 1, "two batches": 2} {
		s := lasting(t, func(body bson.Raw) any { return answering(body, has) })
		coll := scriptColl(t, s)
		keys := must((&keyRetriever{coll: coll}).cryptKeys(bgCtx, emptyDocument))(t, has)
		assert.Len(t, keys, want, has)
		info := must((&collInfoRetriever{client: coll.client}).cryptCollInfo(bgCtx, "db", emptyDocument))(t, has)
		assert.Equal(t, want > 0, len(info) > 0, has)
	}
}

// overloadEnding is how a call in an endless overload comes to its end.
type overloadEnding struct {
	name  string
	opts  *options.ClientOptions
	cause error // that the error wraps

	attempts int // of a command that is rejected
}

var overloadEndings = []overloadEnding{
	{"deadline", options.Client(), nil, withinPeriod + 1},
	{"timeout", options.Client().SetTimeout(patience), nil, withinPeriod + 1},
	{"cancelled", options.Client(), context.Canceled, 1},
	{"limit", options.Client(), nil, 6},
}

// begin returns the context of a call.
func (e overloadEnding) begin(s *scripted.Script) (context.Context, context.CancelFunc) {
	switch e.name {
	case "deadline":
		return context.WithTimeout(bgCtx, patience)
	case "cancelled":
		ctx, cancel := context.WithCancel(bgCtx)
		s.OnSleep = cancel
		return ctx, cancel
	}
	return bgCtx, func() {}
}

// TestEveryOperationInEndlessOverload lets each method meet servers that reject everything.
func TestEveryOperationInEndlessOverload(t *testing.T) {
	inEndlessOverload(t, func(*scripted.Script) {}, checkOverloaded)
}

// inEndlessOverload calls each method, also in a transaction if it can be part of one, and checks how each ending comes.
func inEndlessOverload(
	t *testing.T, prepare func(*scripted.Script), check func(*testing.T, *scripted.Script, sendingMethod, overloadEnding, error),
) {
	for i, method := range sendingMethods() {
		for _, ending := range overloadEndings {
			for _, inTransaction := range []bool{false, true} {
				if inTransaction && method.alone {
					continue
				}
				name := fmt.Sprintf("%s/%d/%s, in a transaction %v", method.name, i, ending.name, inTransaction)
				t.Run(name, func(t *testing.T) {
					s := newImpatientScript(t, method.replies...)
					prepare(s)
					coll := scriptColl(t, s, ending.opts)
					ctx, cancel := ending.begin(s)
					defer cancel()
					if inTransaction {
						session := must(coll.client.StartSession())(t)
						require.NoError(t, session.StartTransaction())
						ctx = NewSessionContext(ctx, session)
					}
					err := method.run(ctx, coll)
					s.Finish()
					check(t, s, method, ending, err)
				})
			}
		}
	}
}

// closesCursor are the methods that have time of their own if the application gives none.
var closesCursor = map[string]bool{"ChangeStream.Close": true, "Cursor.Close": true, "GridFSDownloadStream.Close": true}

func checkOverloaded(t *testing.T, s *scripted.Script, method sendingMethod, ending overloadEnding, err error) {
	t.Helper()
	names, last, run, longest := commandNames(s), "", 0, 0
	for i, sent := range s.Sent {
		target := sent.Command.Index(0).String() // the command's name and what it is about
		if run++; target != last {
			run = 1
		}
		last = target
		accepted := i < len(method.replies)
		cleansUp := names[i] == "killCursors" && !closesCursor[method.name] // TestCleanUpEndsWithTheDeadline has these
		if accepted || cleansUp {
			run = 0
		}
		if run > longest {
			longest = run
		}
	}
	switch ending.name {
	case "deadline", "timeout":
		limit := patience
		if ending.name == "timeout" && method.name == "Session.WithTransaction" {
			limit *= 2 // its abort has the Timeout anew (client-side-operations-timeout.md, "Convenient Transactions API")
		}
		assert.LessOrEqual(t, s.Elapsed, limit, "backoffs %v of %v", s.Slept, names)
	case "cancelled":
		assert.LessOrEqual(t, len(s.Slept), 1, "backoffs %v of %v", s.Slept, names)
	}
	if method.silent {
		assert.NoError(t, err)
		assert.LessOrEqual(t, longest, 6, "a command is sent too often: %v", names)
		return
	}
	require.Error(t, err)
	attempts := ending.attempts
	if ending.name == "limit" && closesCursor[method.name] {
		attempts = int(10*time.Second/longBackoff) + 1
	}
	assert.Equal(t, attempts, longest, "of a command: %v", names)
	assert.False(t, IsTimeout(err), "%v is no timeout: the call was given up before", err)
	assert.False(t, IsNetworkError(err), "%v is no network error", err)
	assert.True(t, errorHasLabel(err, driver.ErrSystemOverloadedError), "%v has lost its labels", err)
	_, partly := err.(BulkWriteException)
	assert.Equal(t, !partly, errorHasLabel(err, driver.ErrRetryableError), "labels of %v", err)
	assert.True(t, ending.cause == nil || errors.Is(err, ending.cause), "%v does not wrap %v", err, ending.cause)
	assert.False(t, ending.cause == nil && errors.Is(err, context.Canceled))
	command := scripted.As[CommandError](t, err)
	assert.Equal(t, int32(462), command.Code)
	server := scripted.As[ServerError](t, err)
	assert.True(t, server.HasErrorCode(462))
	assert.False(t, errors.As(err, new(WriteException)), "nothing was executed")
	var bulk BulkWriteException
	assert.Equal(t, partly, errors.As(err, &bulk), "nothing was executed")
	assert.True(t, !partly || len(method.replies) > 0, "nothing was executed")
}
