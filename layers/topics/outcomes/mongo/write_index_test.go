package mongo

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/version"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// TestIndexesOfNoDocument is about replies to batches of two that tell of documents which are not among them.
func TestIndexesOfNoDocument(t *testing.T) {
	for name, model := range map[string]WriteModel{
		"InsertMany": nil,
		"inserts":    NewInsertOneModel().SetDocument(anything),
		"updates":    NewUpdateOneModel().SetFilter(anything).SetUpdate(increment).SetUpsert(true),
		"deletes":    NewDeleteOneModel().SetFilter(anything),
	} {
		run := func(c *Collection, ordered bool) error {
			if model == nil {
				return second(c.InsertMany(bgCtx, []any{anything, anything}, options.InsertMany().SetOrdered(ordered)))
			}
			return second(c.BulkWrite(bgCtx, []WriteModel{model, model}, options.BulkWrite().SetOrdered(ordered)))
		}
		for _, index := range []any{
			int32(-1), int32(2), int32(math.MaxInt32), int32(math.MinInt32),
			int64(math.MaxInt64), int64(math.MinInt64), int64(1) << 32,
		} {
			replies := []bson.E{writeErrorsAt(index), writeErrorsAt(int32(0), index)}
			if name == "updates" {
				upserted := bson.D{{Key: "index", Value: index}, {Key: "_id", Value: 1}}
				replies = append(replies, bson.E{Key: "upserted", Value: bson.A{upserted}})
			}
			for i, reply := range replies {
				for _, ordered := range []bool{true, false} {
					s := scripted.New(t, scripted.OK(bson.E{Key: "n", Value: 1}, reply))
					err := run(scriptColl(t, s), ordered)
					assert.ErrorContains(t, err, "malformed reply: the server reports", "%s: %v of %d, ordered %v", name, index, i, ordered)
					assert.True(t, i < 2 || len(BulkOutcome(err, 2).Unknown) == 2, "%s: %v of %d, ordered %v", name, index, i, ordered)
					s.Finish()
				}
			}
		}
	}
}

// TestWriteErrorsInAnyOrder is about write errors of an unordered insert that do not come in the order of its documents, or twice.
func TestWriteErrorsInAnyOrder(t *testing.T) {
	for _, tt := range []struct {
		indexes  []any
		inserted string
		errors   int
	}{
		{[]any{0}, "[1]", 1}, {[]any{1}, "[0]", 1}, {[]any{0, 1}, "[]", 2}, {[]any{1, 0}, "[]", 2},
		{[]any{1, 1}, "[0]", 1}, {[]any{0, 0}, "[1]", 1}, {[]any{1, 0, 1, 0}, "[]", 2},
	} {
		coll := scriptColl(t, scripted.New(t, scripted.OK(writeErrorsAt(tt.indexes...))))
		res, err := coll.InsertMany(bgCtx, []any{numbered(0), numbered(1)}, options.InsertMany().SetOrdered(false))
		assert.Len(t, scripted.As[BulkWriteException](t, err, tt.indexes).WriteErrors, tt.errors, "%v", tt.indexes)
		assert.Equal(t, tt.inserted, fmt.Sprint(res.InsertedIDs), "%v", tt.indexes)
	}
}

// TestRejectedWritesOfManyDocuments is about write errors that say that the server is overloaded: it may have changed some of the documents.
// It has not executed a write of one, which "one is rejected" of the oracle is about.
func TestRejectedWritesOfManyDocuments(t *testing.T) {
	rejected := bson.D{{Key: "index", Value: 0}, {Key: "idx", Value: 0}, {Key: "ok", Value: 0}, {Key: "code", Value: 462}}
	for _, model := range []any{
		NewDeleteManyModel().SetFilter(anything), NewUpdateManyModel().SetFilter(anything).SetUpdate(increment),
		NewClientDeleteManyModel().SetFilter(anything), NewClientUpdateManyModel().SetFilter(anything).SetUpdate(increment),
	} {
		errs := bson.E{Key: "writeErrors", Value: bson.A{rejected}}
		coll := scriptColl(t, lasting(t, scripted.OK(errs, firstBatch(0, rejected), bson.E{Key: "nErrors", Value: 1})))
		var err error
		if write, ok := model.(WriteModel); ok {
			_, err = coll.BulkWrite(bgCtx, []WriteModel{write})
		} else {
			_, err = coll.client.BulkWrite(bgCtx, []ClientBulkWrite{{Database: "db", Collection: "coll", Model: model.(ClientWriteModel)}})
		}
		require.Error(t, err)
		assert.Len(t, BulkOutcome(err, 1).Failed, 1, "%T", model)
	}
}

// reauthenticating counts how often a client authenticates again.
type reauthenticating struct {
	driver.Authenticator
	n int
}

func (a *reauthenticating) Reauth(context.Context, *driver.AuthConfig) error { a.n++; return nil }

// passing is automatic encryption that changes nothing.
type passing struct {
	driver.Crypt
	encrypted, decrypted int
}

func (p *passing) Encrypt(_ context.Context, _ string, command bsoncore.Document) (bsoncore.Document, error) {
	p.encrypted++
	return command, nil
}

func (p *passing) Decrypt(_ context.Context, reply bsoncore.Document) (bsoncore.Document, error) {
	p.decrypted++
	return reply, nil
}

func (*passing) BypassAutoEncryption() bool { return false }
func (*passing) Close()                     {}

// clusterTime is what a reply says of the cluster's time.
func clusterTime(seconds uint32) bson.E {
	return bson.E{Key: "$clusterTime", Value: bson.D{{Key: "clusterTime", Value: bson.Timestamp{T: seconds}}}}
}

// neverEncrypted are commands that have nothing to encrypt.
var neverEncrypted = regexp.MustCompile(`killCursors|(commit|abort)Transaction|\w+SearchIndex`)

// TestEveryCommandHasTheClientsOptions: the client's monitor sees each command of each method, which has the client's API version, the
// client's clock knows the time of each reply, and the command is sent again once the client has authenticated again, unless it closes a
// cursor or ends sessions, or is a getMore of v2.5.0.
func TestEveryCommandHasTheClientsOptions(t *testing.T) {
	for _, has := range []string{"a document", "two batches"} {
		for i, method := range append(sendingMethods(), withSeveralCommands...) {
			for asking := 1; ; asking++ {
				s, asked, seen := scripted.New(t), "", 0
				s.Rest = func(body bson.Raw) any {
					if len(s.Sent) == asking {
						asked = body.Index(0).Key()
						return scripted.Failure(391)
					}
					return append(answering(body, has).(bson.D), clusterTime(uint32(len(s.Sent))))
				}
				monitor := &event.CommandMonitor{Started: func(context.Context, *event.CommandStartedEvent) { seen++ }}
				api := options.ServerAPI(options.ServerAPIVersion1)
				client := connectScript(t, s, options.Client().SetMonitor(monitor).SetServerAPIOptions(api))
				auth, crypt := &reauthenticating{}, &passing{}
				client.authenticator, client.cryptFLE = auth, crypt
				err := method.run(bgCtx, client.Database("db").Collection("coll"))
				name := fmt.Sprintf("%s/%d: command %d of %v: %v", method.name, i, asking, commandNames(s), err)
				assert.Equal(t, len(s.Sent), seen, name)
				assert.Equal(t, len(s.Sent)-len(neverEncrypted.FindAllString(fmt.Sprint(commandNames(s)), -1)), crypt.encrypted, name)
				for _, version := range s.Field("apiVersion") {
					assert.Equal(t, "1", version, name)
				}
				if len(s.Sent) < asking {
					latest, _, _ := client.clock.GetClusterTime().Lookup("$clusterTime", "clusterTime").TimestampOK()
					assert.Equal(t, len(s.Sent), int(latest), name)
					assert.Equal(t, crypt.encrypted, crypt.decrypted, name)
					break
				}
				old := asked == "getMore" && version.Driver[:4] == "2.5."
				assert.True(t, auth.n == 1 || old || asked == "killCursors" || asked == "endSessions", name)
			}
		}
	}
}

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
	log := new(scripted.Log)
	sink := options.Logger().SetSink(log).SetComponentLevel(options.LogComponentCommand, options.LogLevelDebug)
	res := must(connectScript(t, s, options.Client().SetLoggerOptions(sink)).BulkWrite(bgCtx, writes))(t)
	s.Finish()
	assert.Len(t, log.Lines, 2*len(s.Sent), "each command is logged, and its end")
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
				assert.True(t, exception.WriteError.Code == 13 && len(exception.WriteError.Raw) > 0, name)
				assert.Equal(t, failed == 0 || !ordered, exception.PartialResult != nil, name)
				if verbose {
					assert.Equal(t, map[int]ClientBulkWriteInsertResult{0: {InsertedID: "new"}}, res.InsertResults, name)
				}
			}
		}
	}
}

// TestInterruptedClientBulkWriteOfAnotherCommandsErrors: the context ends in the backoff after a reply with errors of other commands.
func TestInterruptedClientBulkWriteOfAnotherCommandsErrors(t *testing.T) {
	labels := bson.E{Key: "errorLabels", Value: bson.A{driver.ErrSystemOverloadedError, driver.ErrRetryableError}}
	s := scripted.New(t, scripted.OK(writeErrorsAt(0), labels))
	_, err := connectScript(t, s).BulkWrite(endsInBackoff(s, context.DeadlineExceeded), inserts(1))
	s.Finish()
	assert.True(t, IsTimeout(err), "%v is no timeout", err)
	assert.ErrorContains(t, err, "scripted")
}
