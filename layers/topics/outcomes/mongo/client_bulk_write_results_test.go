package mongo

import (
	"context"
	"fmt"
	"math"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// forEachBulkWrite runs a test for two models of each kind, and for each way to get the results: with the reply, or by a getMore.
func forEachBulkWrite(t *testing.T, test func(t *testing.T, run func(results ...any) error)) {
	t.Helper()
	for kind, model := range bulkWriteModels {
		for _, ordered := range []bool{true, false} {
			for _, getMore := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/ordered %v/getMore %v", kind, ordered, getMore), func(t *testing.T) {
					test(t, func(results ...any) error {
						s := scripted.New(t, scripted.OK(firstBatch(0, results...)))
						if getMore {
							s.Replies = []any{emptyOpen, scripted.OK(nextBatch(0, results...))}
						}
						write := ClientBulkWrite{Database: "db", Collection: "a", Model: model}
						opts := options.ClientBulkWrite().SetOrdered(ordered).SetVerboseResults(true)
						_, err := connectScript(t, s).BulkWrite(bgCtx, []ClientBulkWrite{write, write}, opts)
						s.Finish()
						return err
					})
				})
			}
		}
	}
}

func resultOf(index any, ok float64) bson.D {
	result := bson.D{{Key: "ok", Value: ok}, {Key: "idx", Value: int32(0)}, {Key: "n", Value: int32(1)}, {Key: "nModified", Value: int32(1)},
		{Key: "upserted", Value: bson.D{{Key: "_id", Value: 5}}}, {Key: "code", Value: int32(11000)}, {Key: "errmsg", Value: "duplicate"},
		{Key: "errInfo", Value: bson.D{}}}
	return with(result, "idx", index)
}

// TestClientBulkWriteResultOfNoModel is about results of a batch of two that are of neither.
func TestClientBulkWriteResultOfNoModel(t *testing.T) {
	forEachBulkWrite(t, func(t *testing.T, run func(results ...any) error) {
		for _, index := range []any{
			absent, nil, "text", "0", true, bson.D{}, bson.A{int32(0)}, bson.MinKey{}, bson.Undefined{},
			0.5, -0.5, -1.0, math.NaN(), math.Inf(1),
			int32(-1), int32(2), int32(math.MinInt32), int32(math.MaxInt32),
			int64(-1), int64(2), int64(math.MinInt64), int64(math.MaxInt64), int64(1) << 32, int64(1)<<32 - 1,
		} {
			for _, ok := range []float64{0, 1} {
				assert.Error(t, run(resultOf(index, ok)), "idx %v, ok %v", index, ok)
				assert.Error(t, run(resultOf(int32(1), 1), resultOf(index, ok)), "idx %v, ok %v, after a good one", index, ok)
			}
		}
	})
}

// TestClientBulkWriteResultOfOtherTypes is about the other fields of a result.
func TestClientBulkWriteResultOfOtherTypes(t *testing.T) {
	forEachBulkWrite(t, func(t *testing.T, run func(results ...any) error) {
		for _, field := range []string{"ok", "n", "nModified", "upserted", "code", "errmsg", "errInfo"} {
			for _, value := range append([]any{absent}, otherTypes...) {
				for _, ok := range []float64{0, 1} {
					result := with(resultOf(int32(0), ok), field, value)
					err := run(result)
					_, regex := value.(bson.Regex)
					// Whether bytes that are no document pass for errInfo, which is a Raw, package bson decides.
					if regex && field != "errInfo" || (ok == 0 && field != "ok") || (field == "ok" && value == absent) {
						assert.Error(t, err, "%v", result)
					}
				}
			}
		}
	})
}

// TestClientBulkWriteCounts is about the sums of two batches.
func TestClientBulkWriteCounts(t *testing.T) {
	counts := func(n int32) bson.D {
		return scripted.OK(firstBatch(0),
			bson.E{Key: "nInserted", Value: n}, bson.E{Key: "nMatched", Value: 2 * n}, bson.E{Key: "nModified", Value: 3 * n},
			bson.E{Key: "nUpserted", Value: 4 * n}, bson.E{Key: "nDeleted", Value: 5 * n})
	}
	s := scripted.New(t, counts(1), counts(10))
	writes := inserts(scripted.MaxBatchCount + 1)
	res := must(connectScript(t, s).BulkWrite(bgCtx, writes))(t)
	s.Finish()
	res.InsertResults, res.UpdateResults, res.DeleteResults = nil, nil, nil
	assert.Equal(t, &ClientBulkWriteResult{
		InsertedCount: 11, MatchedCount: 22, ModifiedCount: 33, UpsertedCount: 44, DeletedCount: 55, Acknowledged: true,
	}, res)
}

// TestClientBulkWriteOfUnreadResults is about results that cannot be read, of writes that were executed: if the reply counts no error, all
// are done, beside the error, and the verbose results, with their IDs, are those that could be read. If it counts one, nobody knows whose.
func TestClientBulkWriteOfUnreadResults(t *testing.T) {
	for _, verbose := range []bool{true, false} {
		for _, ordered := range []bool{true, false} {
			for failed := int32(0); failed <= 1; failed++ {
				s := scripted.New(t, scripted.OK(firstBatch(7, resultOf(int32(0), 1)),
					bson.E{Key: "nInserted", Value: 2 - failed}, bson.E{Key: "nErrors", Value: failed}), scripted.Failure(13))
				s.Rest = scripted.OK() // to killCursors
				opts := options.ClientBulkWrite().SetOrdered(ordered).SetVerboseResults(verbose)
				res, err := connectScript(t, s).BulkWrite(bgCtx, inserts(2), opts)
				name := fmt.Sprintf("verbose %v, ordered %v, errors %d", verbose, ordered, failed)
				assert.Equal(t, []int{13}, ErrorCodes(err), name)
				assert.Equal(t, int64(2-failed), res.InsertedCount, name)
				want := BulkWriteOutcome{Done: []int{0, 1}}
				if failed > 0 {
					want = BulkWriteOutcome{Unknown: []int{0, 1}}
				}
				assert.Equal(t, want, BulkOutcome(err, 2), name)
				exception := scripted.As[ClientBulkWriteException](t, err, name)
				assert.Equal(t, 13, exception.WriteError.Code, name)
				assert.Equal(t, failed == 0 || !ordered, exception.PartialResult != nil, name)
				if verbose {
					assert.Equal(t, map[int]ClientBulkWriteInsertResult{0: {InsertedID: "new"}}, res.InsertResults, name)
				}
			}
		}
	}
}

// TestInterruptedClientBulkWriteOfAnotherCommandsErrors is about a bulk write whose context ends in the backoff after a reply that has the
// errors of other commands.
func TestInterruptedClientBulkWriteOfAnotherCommandsErrors(t *testing.T) {
	labels := bson.E{Key: "errorLabels", Value: bson.A{driver.ErrSystemOverloadedError, driver.ErrRetryableError}}
	s := scripted.New(t, scripted.OK(writeErrorsAt(0), labels))
	_, err := connectScript(t, s).BulkWrite(endsInBackoff(s, context.DeadlineExceeded), inserts(1))
	s.Finish()
	assert.True(t, IsTimeout(err), "%v is no timeout", err)
	assert.ErrorContains(t, err, "scripted")
}
