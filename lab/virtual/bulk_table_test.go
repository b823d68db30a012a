package virtual

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/servererror"
)

// The ends of a write command of two statements: it is accepted; rejected for good; its second document is a duplicate; its write concern is
// missed.
const bulkEnds = "ARDW"

// bulkServer ends the write commands of one call as a plan says, and counts what it accepts.
type bulkServer struct {
	plan     string
	commands []string // the first _id of each
	met      string   // the ends of the commands that came
	accepted int
}

// hook answers write commands, and leaves others to the store.
func (s *bulkServer) hook(c Command, run func() bson.Raw) bson.Raw {
	if !slices.Contains([]string{"insert", "update", "delete", "bulkWrite"}, c.Name) {
		return run()
	}
	first := firstID(c.Body)
	number := slices.Index(s.commands, first)
	if number < 0 {
		number = len(s.commands)
		s.commands, s.met = append(s.commands, first), s.met+s.plan[number:number+1]
	}
	end := s.plan[number]
	if end == 'R' {
		return RequestRate.Reply()
	}
	n := int32(2)
	duplicate := bsondoc.D("code", int32(11000), "errmsg", "duplicate")
	var reply bson.D
	if end == 'D' {
		n = 1
		reply = bsondoc.D("writeErrors", bson.A{append(bsondoc.D("index", int32(1)), duplicate...)})
	}
	s.accepted += int(n)
	reply = append(reply, bsondoc.D("n", n, "nModified", n)...)
	if c.Name == "bulkWrite" {
		results := bson.A{}
		if end == 'D' {
			results = bson.A{append(bsondoc.D("ok", 0.0, "idx", int32(1), "n", int32(0)), duplicate...)}
		}
		reply = bsondoc.D("cursor", bsondoc.D("id", int64(0), "ns", "admin.$cmd.bulkWrite", "firstBatch", results),
			"nErrors", 2-n, "nInserted", n, "nMatched", int32(0), "nModified", int32(0), "nUpserted", int32(0), "nDeleted", int32(0))
	}
	if end == 'W' {
		return WithConcern(c, servererror.OK(reply...), 64)
	}
	return servererror.OK(reply...)
}

// firstID returns the _id of the first document of a write command, as text.
func firstID(body bson.Raw) string {
	for _, path := range [][]string{
		{"documents", "0", "_id"}, {"updates", "0", "q", "_id"}, {"deletes", "0", "q", "_id"}, {"ops", "0", "document", "_id"},
	} {
		if value, err := body.LookupErr(path...); err == nil {
			return value.String()
		}
	}
	return ""
}

// bulkShapes are calls of three commands, each of two documents with the numbers as _id. They return how many the result counts.
var bulkShapes = []struct {
	name string
	run  func(coll *mongo.Collection, ordered bool) (int64, error)
}{
	{"InsertMany", func(coll *mongo.Collection, ordered bool) (int64, error) {
		docs := []any{id(0), id(1), id(2), id(3), id(4), id(5)}
		res, err := coll.InsertMany(context.Background(), docs, options.InsertMany().SetOrdered(ordered))
		if res == nil {
			return 0, err
		}
		return int64(len(res.InsertedIDs)), err
	}},
	{"BulkWrite", func(coll *mongo.Collection, ordered bool) (int64, error) {
		return bulkWriteOf(coll, ordered, func(int) int { return 0 })
	}},
	{"of three kinds", func(coll *mongo.Collection, ordered bool) (int64, error) {
		return bulkWriteOf(coll, ordered, func(i int) int { return i / 2 })
	}},
	{"Client.BulkWrite", func(coll *mongo.Collection, ordered bool) (int64, error) {
		var writes []mongo.ClientBulkWrite
		for i := range 6 {
			model := mongo.NewClientInsertOneModel().SetDocument(id(i))
			writes = append(writes, mongo.ClientBulkWrite{Database: "db", Collection: "c", Model: model})
		}
		res, err := coll.Database().Client().BulkWrite(context.Background(), writes, options.ClientBulkWrite().SetOrdered(ordered))
		return res.InsertedCount, err
	}},
}

func bulkWriteOf(coll *mongo.Collection, ordered bool, kind func(int) int) (int64, error) {
	var models []mongo.WriteModel
	for i := range 6 {
		models = append(models, []mongo.WriteModel{
			mongo.NewInsertOneModel().SetDocument(id(i)),
			mongo.NewUpdateOneModel().SetFilter(id(i)).SetUpdate(bson.D{{Key: "$inc", Value: bson.D{{Key: "x", Value: 1}}}}),
			mongo.NewDeleteOneModel().SetFilter(id(i)),
		}[kind(i)])
	}
	res, err := coll.BulkWrite(context.Background(), models, options.BulkWrite().SetOrdered(ordered))
	if res == nil {
		return 0, err
	}
	return res.InsertedCount + res.MatchedCount + res.DeletedCount, err
}

// bulkRows are what a caller can be told wrongly.
var bulkRows = []string{
	"counts differ from what was accepted", "a duplicate is not told", "a write concern error is not told", "a final rejection is not told",
	"something was written, and the error says that nothing was", "something was written, and the type is not the API's exception",
}

// wrongOf returns which rows are true of a call.
func (s *bulkServer) wrongOf(counted int64, err error) [6]bool {
	var bulk mongo.BulkWriteException
	var client mongo.ClientBulkWriteException
	duplicates, concerns, rejected := 0, 0, false
	labeled := func(label string) bool {
		var e mongo.LabeledError
		return errors.As(err, &e) && e.HasErrorLabel(label)
	}
	rejected = labeled("SystemOverloadedError")
	isBulk, isClient := errors.As(err, &bulk), errors.As(err, &client)
	switch {
	case isBulk:
		duplicates = len(bulk.WriteErrors)
		for _, code := range bulk.ErrorCodes() {
			if code == 64 {
				concerns++
			}
		}
	case isClient:
		duplicates, concerns = len(client.WriteErrors), len(client.WriteConcernErrors)
		rejected = rejected && client.WriteError != nil
	}
	nothing := labeled("RetryableError") || labeled("NoWritesPerformed")
	return [6]bool{
		int(counted) != s.accepted, duplicates != strings.Count(s.met, "D"), concerns != strings.Count(s.met, "W"),
		strings.Contains(s.met, "R") && !rejected, s.accepted > 0 && nothing,
		s.accepted > 0 && err != nil && !isBulk && !isClient,
	}
}

// TestWhatABulkWriteTells makes calls of three commands, which end in all 64 ways, ordered and not, in four shapes, and counts what the caller
// is told wrongly. Of the fork that has to be nothing.
func TestWhatABulkWriteTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := New(t, Options{Batch: 2})
		coll := connect(t, cluster.Client()).Database("db").Collection("c")
		table := make([][]string, len(bulkRows))
		for _, shape := range bulkShapes {
			var counts [6]int
			for plan := range 64 {
				for _, ordered := range []bool{true, false} {
					s := &bulkServer{plan: string([]byte{bulkEnds[plan/16], bulkEnds[plan/4%4], bulkEnds[plan%4]})}
					cluster.Intercept(s.hook)
					for row, wrong := range s.wrongOf(shape.run(coll, ordered)) {
						if wrong {
							counts[row]++
						}
					}
				}
			}
			for row, count := range counts {
				table[row] = append(table[row], fmt.Sprint(count))
			}
		}
		_, fork := reflect.TypeFor[*options.ClientOptions]().MethodByName("SetAdaptiveThrottling")
		for row, counts := range table {
			t.Logf("%s: %s of 128 each", bulkRows[row], strings.Join(counts, ", "))
			if fork {
				assert.Equal(t, []string{"0", "0", "0", "0"}, counts, bulkRows[row])
			}
		}
		require.Positive(t, cluster.Count("bulkWrite"))
	})
}
