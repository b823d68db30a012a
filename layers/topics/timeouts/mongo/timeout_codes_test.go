package mongo

import (
	"context"
	"fmt"
	"io"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"
)

// The three replies of a server that has run out of maxTimeMS, in the order of the specification's examples.
var maxTimeReplies = map[string]bson.D{
	"ok: 0":             scripted.Failure(50),
	"writeErrors":       scripted.OK(bson.E{Key: "n", Value: 0}, maxTimeWriteErrors, oneResult, madeIndex),
	"writeConcernError": scripted.OK(bson.E{Key: "n", Value: 1}, concernError(50), oneResult, madeIndex),
}

var maxTimeWriteErrors = bson.E{Key: "writeErrors", Value: bson.A{bson.D{
	{Key: "index", Value: 0}, {Key: "code", Value: 50}, {Key: "errmsg", Value: "scripted"},
}}}

// TestIsTimeoutAfterMaxTime lets the server run out of maxTimeMS in each method: whatever type the method's error is of, it is a timeout
// (client-side-operations-timeout.md, "Error Transformations").
func TestIsTimeoutAfterMaxTime(t *testing.T) {
	failed := map[string]int{}
	for _, method := range sendingMethods() {
		for in, reply := range maxTimeReplies {
			s := scripted.New(t, method.replies...)
			s.Rest = reply
			err := method.run(context.Background(), connectScript(t, s).Database("db").Collection("coll"))
			if err == nil {
				assert.False(t, in == "ok: 0" && !method.silent, "%s: no error", method.name)
				continue
			}
			failed[in]++
			assert.True(t, IsTimeout(err), "%s, %s: %T: %v", method.name, in, err, err)
		}
	}
	assert.Greater(t, failed["ok: 0"], 60)
	assert.Greater(t, failed["writeErrors"], 40)
	assert.Greater(t, failed["writeConcernError"], 40)
}

func TestIsTimeoutOfJoinedErrors(t *testing.T) {
	joined := func(errs ...error) error { return severalErrors(errs) }
	canceled := topology.WaitQueueTimeoutError{Wrapped: context.Canceled}
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{context.DeadlineExceeded, true},
		{canceled, false},
		{joined(canceled, io.EOF), false},
		{joined(canceled, context.DeadlineExceeded), true},
		{fmt.Errorf("both: %w", joined(canceled, context.DeadlineExceeded)), true},
		{fmt.Errorf("both: %w", joined(io.EOF, CommandError{Code: 50})), true},
		{fmt.Errorf("both: %w", joined(canceled, io.EOF)), false},
		{backpressure.Interruption{Err: joined(context.DeadlineExceeded, io.EOF), Cause: context.Canceled}, false},
		{backpressure.Interruption{Err: joined(context.Canceled, io.EOF), Cause: context.DeadlineExceeded}, false},
	} {
		assert.Equal(t, tt.want, IsTimeout(tt.err), "%v", tt.err)
	}
}
