package mongo

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// The three replies of a server that has run out of maxTimeMS, in the order of the specification's examples.
var maxTimeReplies = map[string]bson.D{
	"ok: 0":             scripted.Failure(50),
	"writeErrors":       scripted.OK(bson.E{Key: "n", Value: 0}, maxTimeWriteErrors, noCursor),
	"writeConcernError": scripted.OK(bson.E{Key: "n", Value: 1}, concernError(50), noCursor),
}

var (
	maxTimeWriteErrors = bson.E{Key: "writeErrors", Value: bson.A{bson.D{
		{Key: "index", Value: 0}, {Key: "code", Value: 50}, {Key: "errmsg", Value: "scripted"},
	}}}
	noCursor = batch("firstBatch", 0)
)

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
	assert.Greater(t, failed["ok: 0"], 80)
	assert.Greater(t, failed["writeErrors"], 40)
	assert.Greater(t, failed["writeConcernError"], 40)
}

// TestIsTimeoutOfErrors is about the types of errors that a code can be in, alone and wrapped.
func TestIsTimeoutOfErrors(t *testing.T) {
	for _, code := range []int{50, 51} {
		concern := WriteConcernError{Code: code}
		for _, err := range []error{
			CommandError{Code: int32(code)},
			WriteError{Code: code},
			concern,
			WriteException{WriteErrors: WriteErrors{{Code: 1}, {Code: code}}},
			WriteException{WriteConcernError: &concern},
			BulkWriteException{WriteErrors: []BulkWriteError{{WriteError: WriteError{Code: code}}}},
			BulkWriteException{WriteConcernError: &concern},
			ClientBulkWriteException{WriteError: &WriteError{Code: code}},
			ClientBulkWriteException{WriteConcernErrors: []WriteConcernError{concern}},
			ClientBulkWriteException{WriteErrors: map[int]WriteError{3: {Code: code}}},
			driver.WriteCommandError{WriteErrors: driver.WriteErrors{{Code: int64(code)}}},
			driver.WriteCommandError{WriteConcernError: &driver.WriteConcernError{Code: int64(code)}},
		} {
			for _, err := range []error{
				err, fmt.Errorf("wrapped: %w", err), CommandError{Code: 1, Wrapped: err}, severalErrors{errors.New("another"), err},
			} {
				assert.Equal(t, code == 50, IsTimeout(err), "%T: %v", err, err)
			}
		}
	}
	assert.False(t, IsTimeout(nil))
}

// severalErrors is what errors.Join makes.
type severalErrors []error

func (errs severalErrors) Error() string   { return fmt.Sprint([]error(errs)) }
func (errs severalErrors) Unwrap() []error { return errs }
