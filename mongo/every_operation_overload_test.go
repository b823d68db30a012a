package mongo

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

func sendingMethods() []sendingMethod {
	var all []sendingMethod
	for _, methods := range [][]sendingMethod{onCollections, onDatabases, onClients, onEncryption} {
		all = append(all, methods...)
	}
	return all
}

// sendNothing are the exported methods that send no command.
var sendNothing = []string{
	"ChangeStream.Decode",
	"ChangeStream.Err",
	"ChangeStream.ID",
	"ChangeStream.RemainingBatchLength",
	"ChangeStream.ResumeToken",
	"ChangeStream.SetBatchSize",
	"Client.AppendDriverInfo",
	"Client.Database",
	"Client.NumberSessionsInProgress",
	"Client.RetryTokens",
	"Client.StartSession",
	"Client.ThrottleProbabilities",
	"Client.Timeout",
	"Collection.Clone",
	"Collection.Database",
	"Collection.Indexes",
	"Collection.Name",
	"Collection.SearchIndexes",
	"Cursor.Decode",
	"Cursor.Err",
	"Cursor.ID",
	"Cursor.RemainingBatchLength",
	"Cursor.SetBatchSize",
	"Cursor.SetComment",
	"Cursor.SetMaxAwaitTime",
	"Database.Client",
	"Database.Collection",
	"Database.GridFSBucket",
	"Database.Name",
	"Database.ReadConcern",
	"Database.ReadPreference",
	"Database.WriteConcern",
	"GridFSBucket.GetChunksCollection",
	"GridFSBucket.GetFilesCollection",
	"GridFSDownloadStream.GetFile",
	"Session.AdvanceClusterTime",
	"Session.AdvanceOperationTime",
	"Session.Client",
	"Session.ClusterTime",
	"Session.ID",
	"Session.OperationTime",
	"Session.SnapshotTime",
	"Session.StartTransaction",
	"Session.TransactionRunning",
	"SingleResult.Acknowledged",
	"SingleResult.Decode",
	"SingleResult.Err",
	"SingleResult.Raw",
}

// TestEveryMethodIsInTheTable fails for a method that is new.
func TestEveryMethodIsInTheTable(t *testing.T) {
	known := map[string]bool{}
	for _, name := range sendNothing {
		known[name] = true
	}
	for _, method := range sendingMethods() {
		known[method.name] = true
	}
	for _, receiver := range []any{
		&Client{}, &Database{}, &Collection{}, &Cursor{}, &ChangeStream{}, &Session{},
		IndexView{}, SearchIndexView{}, &GridFSBucket{},
		&GridFSUploadStream{}, &GridFSDownloadStream{}, &SingleResult{}, &ClientEncryption{},
	} {
		typ := reflect.TypeOf(receiver)
		name := typ.Name()
		if typ.Kind() == reflect.Pointer {
			name = typ.Elem().Name()
		}
		for i := 0; i < typ.NumMethod(); i++ {
			method := name + "." + typ.Method(i).Name
			assert.True(
				t,
				known[method],
				"%s is neither in the table of methods that send commands nor in the list of the others",
				method,
			)
		}
	}
}

// overloadEnding is how a call in an endless overload comes to its end.
type overloadEnding struct {
	name  string
	opts  *options.ClientOptions
	begin func(*scripted.Script) (context.Context, context.CancelFunc)
	cause error // that the error wraps

	attempts int // of a command that is rejected
}

var overloadEndings = []overloadEnding{
	{name: "deadline", opts: options.Client(), begin: func(*scripted.Script) (context.Context, context.CancelFunc) {
		return context.WithTimeout(context.Background(), patience)
	}, cause: nil, attempts: withinPeriod + 1},
	{
		name: "timeout",
		opts: options.Client().SetTimeout(patience),
		begin: func(*scripted.Script) (context.Context, context.CancelFunc) {
			return context.Background(), func() {}
		},
		cause:    nil,
		attempts: withinPeriod + 1,
	},
	{name: "cancelled", opts: options.Client(), begin: func(s *scripted.Script) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(context.Background())
		s.OnSleep = cancel
		return ctx, cancel
	}, cause: context.Canceled, attempts: 1},
	{name: "limit", opts: options.Client(), begin: func(*scripted.Script) (context.Context, context.CancelFunc) {
		return context.Background(), func() {}
	}, cause: nil, attempts: 6},
}

// TestEveryOperationInEndlessOverload lets each method meet servers that reject everything.
func TestEveryOperationInEndlessOverload(t *testing.T) {
	for i, method := range sendingMethods() {
		for _, ending := range overloadEndings {
			method, ending := method, ending
			t.Run(fmt.Sprintf("%s/%d/%s", method.name, i, ending.name), func(t *testing.T) {
				s := newImpatientScript(t, method.replies...)
				coll := connectScript(t, s, ending.opts).Database("db").Collection("coll")
				ctx, cancel := ending.begin(s)
				defer cancel()
				checkOverloaded(t, s, method, ending, method.run(ctx, coll))
			})
			if method.alone {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d/%s in a transaction", method.name, i, ending.name), func(t *testing.T) {
				s := newImpatientScript(t, method.replies...)
				coll := connectScript(t, s, ending.opts).Database("db").Collection("coll")
				session, err := coll.client.StartSession()
				require.NoError(t, err)
				require.NoError(t, session.StartTransaction())
				ctx, cancel := ending.begin(s)
				defer cancel()
				checkOverloaded(t, s, method, ending, method.run(NewSessionContext(ctx, session), coll))
			})
		}
	}
}

// commandTargets returns the first elements of the commands that came to the servers: their names and what they are about.
func commandTargets(t *testing.T, s *scripted.Script) []string {
	t.Helper()

	var targets []string
	for _, sent := range s.Sent {
		elements, err := sent.Command.Elements()
		require.NoError(t, err)
		targets = append(targets, elements[0].String())
	}
	return targets
}

func checkOverloaded(t *testing.T, s *scripted.Script, method sendingMethod, ending overloadEnding, err error) {
	t.Helper()
	s.Finish()

	names, run, longest := commandTargets(t, s), 0, 0
	for i, name := range names {
		if run++; i > 0 && name != names[i-1] {
			run = 1
		}
		accepted := i < len(method.replies)
		if accepted {
			run = 0
		}
		if run > longest {
			longest = run
		}
	}
	switch ending.name {
	case "deadline", "timeout":
		assert.LessOrEqual(t, s.Elapsed, patience, "backoffs %v of %v", s.Slept, names)
	case "cancelled":
		assert.LessOrEqual(t, len(s.Slept), 1, "backoffs %v of %v", s.Slept, names)
	}
	spent := float64(len(s.Slept))
	assert.InDelta(t, 1000-spent, s.Policy.Bucket.Tokens(), 0.5, "a token is spent for each backoff")

	if method.silent {
		assert.NoError(t, err)
		assert.LessOrEqual(t, longest, 6, "a command is sent too often: %v", names)
		return
	}
	require.Error(t, err)
	assert.Equal(t, ending.attempts, longest, "of a command: %v", names)
	assert.False(t, IsTimeout(err), "%v is no timeout: the call was given up before", err)
	assert.False(t, IsNetworkError(err), "%v is no network error", err)
	assert.True(t, errorHasLabel(err, driver.ErrSystemOverloadedError), "%v has lost its labels", err)
	assert.True(t, errorHasLabel(err, driver.ErrRetryableError), "%v has lost its labels", err)
	assert.True(t, ending.cause == nil || errors.Is(err, ending.cause), "%v does not wrap %v", err, ending.cause)
	assert.False(t, ending.cause == nil && errors.Is(err, context.Canceled))

	var command CommandError
	require.True(t, errors.As(err, &command), "got %T (%v)", err, err)
	assert.Equal(t, int32(462), command.Code)
	var server ServerError
	require.True(t, errors.As(err, &server))
	assert.True(t, server.HasErrorCode(462))
	var write WriteException
	assert.False(t, errors.As(err, &write), "nothing was executed")
	var bulk BulkWriteException
	assert.False(t, errors.As(err, &bulk), "nothing was executed")
	var retries *RetryError
	require.True(t, errors.As(err, &retries), "%v does not tell its attempts", err)
	assert.Greater(t, retries.Attempts, retries.Retries)
}
