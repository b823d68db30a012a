package mongo

import (
	"bytes"
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/overloadtest"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// TestOverloadEveryOperation is about the commands that applications can send: all are retried after overload errors.
func TestOverloadEveryOperation(t *testing.T) {
	ctx := context.Background()
	all := bson.D{}
	inc := bson.D{{Key: "$inc", Value: bson.D{{Key: "x", Value: 1}}}}
	index := IndexModel{Keys: bson.D{{Key: "x", Value: 1}}}
	ok := overloadtest.OK()
	none := overloadtest.OK(batch("firstBatch", 0))
	value := overloadtest.OK(bson.E{Key: "value", Value: bson.D{}})

	tests := []struct {
		name string
		run  func(*Collection) error
		// replies are those of each command: the first command, and the others if there are more, are overloaded twice.
		replies []any
	}{
		{"create", func(c *Collection) error { return c.Database().CreateCollection(ctx, "new") }, []any{ok}},
		{"create a view", func(c *Collection) error { return c.Database().CreateView(ctx, "view", "coll", Pipeline{}) }, []any{ok}},
		{"drop", func(c *Collection) error { return c.Drop(ctx) }, []any{ok}},
		{"dropDatabase", func(c *Collection) error { return c.Database().Drop(ctx) }, []any{ok}},
		{"createIndexes", func(c *Collection) error { _, err := c.Indexes().CreateOne(ctx, index); return err }, []any{ok}},
		{"dropIndexes", func(c *Collection) error { return c.Indexes().DropOne(ctx, "x_1") }, []any{ok}},
		{"listIndexes", func(c *Collection) error { _, err := c.Indexes().List(ctx); return err }, []any{none}},
		{"createSearchIndexes", func(c *Collection) error {
			_, err := c.SearchIndexes().CreateOne(ctx, SearchIndexModel{Definition: all})
			return err
		}, []any{overloadtest.OK(bson.E{Key: "indexesCreated", Value: bson.A{bson.D{{Key: "id", Value: "1"}, {Key: "name", Value: "a"}}}})}},
		{"updateSearchIndex", func(c *Collection) error { return c.SearchIndexes().UpdateOne(ctx, "a", all) }, []any{ok}},
		{"dropSearchIndex", func(c *Collection) error { return c.SearchIndexes().DropOne(ctx, "a") }, []any{ok}},
		{"rename by runCommand", func(c *Collection) error {
			return c.Database().RunCommand(ctx, bson.D{{Key: "renameCollection", Value: "db.coll"}}).Err()
		}, []any{ok}},
		{"explain by runCommand", func(c *Collection) error {
			return c.Database().RunCommand(ctx, bson.D{{Key: "explain", Value: all}}).Err()
		}, []any{ok}},
		{"insert", func(c *Collection) error { _, err := c.InsertOne(ctx, all); return err }, []any{ok}},
		{"insert in batches", func(c *Collection) error { _, err := c.InsertMany(ctx, []any{all, all, all}); return err }, []any{ok, ok}},
		{"update one", func(c *Collection) error { _, err := c.UpdateOne(ctx, all, inc); return err }, []any{ok}},
		{"update many", func(c *Collection) error { _, err := c.UpdateMany(ctx, all, inc); return err }, []any{ok}},
		{"delete one", func(c *Collection) error { _, err := c.DeleteOne(ctx, all); return err }, []any{ok}},
		{"delete many", func(c *Collection) error { _, err := c.DeleteMany(ctx, all); return err }, []any{ok}},
		{"findAndModify", func(c *Collection) error { return c.FindOneAndUpdate(ctx, all, inc).Err() }, []any{value}},
		{"bulk write", func(c *Collection) error {
			_, err := c.BulkWrite(ctx, []WriteModel{
				NewInsertOneModel().SetDocument(all), NewUpdateManyModel().SetFilter(all).SetUpdate(inc), NewDeleteOneModel().SetFilter(all),
			})
			return err
		}, []any{ok, ok, ok}},
		{"client bulk write in batches", func(c *Collection) error {
			insert := &ClientInsertOneModel{Document: all}
			_, err := c.client.BulkWrite(ctx, []ClientBulkWrite{
				{Database: "db", Collection: "a", Model: insert}, {Database: "db", Collection: "a", Model: insert}, {Database: "db", Collection: "a", Model: insert},
			})
			return err
		}, []any{none, none}},
		{"client bulk write with a getMore", func(c *Collection) error {
			_, err := c.client.BulkWrite(ctx, []ClientBulkWrite{
				{Database: "db", Collection: "a", Model: &ClientInsertOneModel{Document: all}},
			})
			return err
		}, []any{overloadtest.OK(batch("firstBatch", 7)), overloadtest.OK(batch("nextBatch", 0))}},
		{"find, getMore", func(c *Collection) error {
			cursor, err := c.Find(ctx, all)
			if err != nil {
				return err
			}
			return cursor.All(ctx, &[]bson.D{})
		}, []any{overloadtest.OK(batch("firstBatch", 7, all)), overloadtest.OK(batch("nextBatch", 0))}},
		{"find, killCursors", func(c *Collection) error {
			cursor, err := c.Find(ctx, all)
			if err != nil {
				return err
			}
			return cursor.Close(ctx)
		}, []any{overloadtest.OK(batch("firstBatch", 7)), ok}},
		{"aggregate", func(c *Collection) error { _, err := c.Aggregate(ctx, Pipeline{}); return err }, []any{none}},
		{"aggregate with $out", func(c *Collection) error {
			_, err := c.Aggregate(ctx, Pipeline{{{Key: "$out", Value: "other"}}})
			return err
		}, []any{none}},
		{"count", func(c *Collection) error { _, err := c.EstimatedDocumentCount(ctx); return err }, []any{overloadtest.OK(bson.E{Key: "n", Value: 1})}},
		{"distinct", func(c *Collection) error { return c.Distinct(ctx, "x", all).Err() }, []any{overloadtest.OK(bson.E{Key: "values", Value: bson.A{}})}},
		{"listCollections", func(c *Collection) error { _, err := c.Database().ListCollectionNames(ctx, all); return err }, []any{none}},
		{"listDatabases", func(c *Collection) error { _, err := c.client.ListDatabaseNames(ctx, all); return err },
			[]any{overloadtest.OK(bson.E{Key: "databases", Value: bson.A{}})}},
		{"GridFS upload", func(c *Collection) error {
			_, err := c.Database().GridFSBucket().UploadFromStream(ctx, "file", bytes.NewReader([]byte("content")))
			return err
		}, []any{overloadtest.OK(batch("firstBatch", 0, bson.D{})), ok, ok}},
		{"GridFS rename", func(c *Collection) error {
			return c.Database().GridFSBucket().Rename(ctx, 1, "other")
		}, []any{overloadtest.OK(bson.E{Key: "n", Value: 1}, bson.E{Key: "nModified", Value: 1})}},
		{"commitTransaction", func(c *Collection) error { return endTransaction(ctx, c, (*Session).CommitTransaction) }, []any{ok, ok}},
		{"abortTransaction", func(c *Collection) error { return endTransaction(ctx, c, (*Session).AbortTransaction) }, []any{ok, ok}},
	}
	for _, tt := range tests {
		tt := tt
		t.Run(tt.name, func(t *testing.T) {
			s := overloadtest.New(t)
			for _, reply := range tt.replies {
				s.Replies = append(s.Replies, overloadtest.Overloaded(), overloadtest.Overloaded(), reply)
			}
			coll := connectScript(t, s).Database("db").Collection("coll")
			require.NoError(t, tt.run(coll))
			s.Finish()
			assert.Len(t, s.Slept, 2*len(tt.replies))
		})
	}
}

func endTransaction(ctx context.Context, coll *Collection, end func(*Session, context.Context) error) error {
	session, err := coll.client.StartSession()
	if err != nil {
		return err
	}
	if err := session.StartTransaction(); err != nil {
		return err
	}
	if _, err := coll.InsertOne(NewSessionContext(ctx, session), bson.D{}); err != nil {
		return err
	}
	return end(session, ctx)
}

// TestRejectedWriteIsNoSuccess is about a server from version 8.2.6 on and a client that does not retry: it
// must not take the write for done.
func TestRejectedWriteIsNoSuccess(t *testing.T) {
	ctx := context.Background()
	tests := map[string]func(*Collection) error{
		"InsertOne": func(c *Collection) error { _, err := c.InsertOne(ctx, bson.D{}); return err },
		"UpdateMany": func(c *Collection) error {
			_, err := c.UpdateMany(ctx, bson.D{}, bson.D{{Key: "$set", Value: bson.D{{Key: "x", Value: 1}}}})
			return err
		},
		"BulkWrite": func(c *Collection) error {
			_, err := c.BulkWrite(ctx, []WriteModel{NewInsertOneModel().SetDocument(bson.D{})})
			return err
		},
		"client BulkWrite": func(c *Collection) error {
			_, err := c.client.BulkWrite(ctx, []ClientBulkWrite{
				{Database: "db", Collection: "coll", Model: &ClientInsertOneModel{Document: bson.D{}}},
			})
			return err
		},
		"Drop":       func(c *Collection) error { return c.Drop(ctx) },
		"RunCommand": func(c *Collection) error { return c.Database().RunCommand(ctx, bson.D{{Key: "x", Value: 1}}).Err() },
		"FindOne":    func(c *Collection) error { return c.FindOne(ctx, bson.D{}).Err() },
	}
	for name, run := range tests {
		run := run
		t.Run(name, func(t *testing.T) {
			s := overloadtest.New(t, overloadtest.Rejected())
			s.Policy.Policy.RetryReads, s.Policy.Policy.RetryWrites = false, false
			err := run(connectScript(t, s).Database("db").Collection("coll"))
			s.Finish()
			require.Error(t, err)
			assert.True(t, errorHasLabel(err, driver.NoWritesPerformed), "got %T (%v)", err, err)
		})
	}
}
