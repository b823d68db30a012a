package mongo

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

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

	switch method.name {
	case "SearchIndexView.DropOne", "SearchIndexView.UpdateOne": // the type of their errors is not this test's
		return
	}
	command := scripted.As[CommandError](t, err)
	assert.Equal(t, int32(462), command.Code)
	server := scripted.As[ServerError](t, err)
	assert.True(t, server.HasErrorCode(462))
	assert.False(t, errors.As(err, new(WriteException)), "nothing was executed")
	var bulk BulkWriteException
	assert.Equal(t, partly, errors.As(err, &bulk), "nothing was executed")
	assert.True(t, !partly || len(method.replies) > 0, "nothing was executed")
}
