package mongo

import (
	"bytes"
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// TestOverloadEveryOperation is about the commands that applications can send: all are retried after overload errors.
func TestOverloadEveryOperation(t *testing.T) {
	ctx := context.Background()
	all := bson.D{}
	inc := bson.D{{Key: "$inc", Value: bson.D{{Key: "x", Value: 1}}}}
	index := IndexModel{Keys: bson.D{{Key: "x", Value: 1}}}
	ok := scripted.OK()
	none := scripted.OK(batch("firstBatch", 0))
	value := scripted.OK(bson.E{Key: "value", Value: bson.D{}})

	tests := []struct {
		name string
		run  func(*Collection) error
		// replies are those of each command: the first command, and the others if there are more, are overloaded twice.
		replies []any
	}{
		{name: "create", run: func(c *Collection) error { return c.Database().CreateCollection(ctx, "new") }, replies: []any{ok}},
		{
			name:    "create a view",
			run:     func(c *Collection) error { return c.Database().CreateView(ctx, "view", "coll", Pipeline{}) },
			replies: []any{ok},
		},
		{name: "drop", run: func(c *Collection) error { return c.Drop(ctx) }, replies: []any{ok}},
		{name: "dropDatabase", run: func(c *Collection) error { return c.Database().Drop(ctx) }, replies: []any{ok}},
		{
			name:    "createIndexes",
			run:     func(c *Collection) error { _, err := c.Indexes().CreateOne(ctx, index); return err },
			replies: []any{ok},
		},
		{name: "dropIndexes", run: func(c *Collection) error { return c.Indexes().DropOne(ctx, "x_1") }, replies: []any{ok}},
		{
			name:    "listIndexes",
			run:     func(c *Collection) error { _, err := c.Indexes().List(ctx); return err },
			replies: []any{none},
		},
		{name: "createSearchIndexes", run: func(c *Collection) error {
			_, err := c.SearchIndexes().CreateOne(ctx, SearchIndexModel{Definition: all})
			return err
		}, replies: []any{scripted.OK(
			bson.E{Key: "indexesCreated", Value: bson.A{bson.D{{Key: "id", Value: "1"}, {Key: "name", Value: "a"}}}},
		)}},
		{
			name:    "updateSearchIndex",
			run:     func(c *Collection) error { return c.SearchIndexes().UpdateOne(ctx, "a", all) },
			replies: []any{ok},
		},
		{
			name:    "dropSearchIndex",
			run:     func(c *Collection) error { return c.SearchIndexes().DropOne(ctx, "a") },
			replies: []any{ok},
		},
		{name: "rename by runCommand", run: func(c *Collection) error {
			return c.Database().RunCommand(ctx, bson.D{{Key: "renameCollection", Value: "db.coll"}}).Err()
		}, replies: []any{ok}},
		{name: "explain by runCommand", run: func(c *Collection) error {
			return c.Database().RunCommand(ctx, bson.D{{Key: "explain", Value: all}}).Err()
		}, replies: []any{ok}},
		{name: "insert", run: func(c *Collection) error { _, err := c.InsertOne(ctx, all); return err }, replies: []any{ok}},
		{
			name:    "insert in batches",
			run:     func(c *Collection) error { _, err := c.InsertMany(ctx, []any{all, all, all}); return err },
			replies: []any{ok, ok},
		},
		{
			name:    "update one",
			run:     func(c *Collection) error { _, err := c.UpdateOne(ctx, all, inc); return err },
			replies: []any{ok},
		},
		{
			name:    "update many",
			run:     func(c *Collection) error { _, err := c.UpdateMany(ctx, all, inc); return err },
			replies: []any{ok},
		},
		{name: "delete one", run: func(c *Collection) error { _, err := c.DeleteOne(ctx, all); return err }, replies: []any{ok}},
		{name: "delete many", run: func(c *Collection) error { _, err := c.DeleteMany(ctx, all); return err }, replies: []any{ok}},
		{
			name:    "findAndModify",
			run:     func(c *Collection) error { return c.FindOneAndUpdate(ctx, all, inc).Err() },
			replies: []any{value},
		},
		{name: "bulk write", run: func(c *Collection) error {
			_, err := c.BulkWrite(ctx, []WriteModel{
				NewInsertOneModel().SetDocument(
					all,
				),
				NewUpdateManyModel().SetFilter(all).SetUpdate(inc),
				NewDeleteOneModel().SetFilter(all),
			})
			return err
		}, replies: []any{ok, ok, ok}},
		{name: "client bulk write in batches", run: func(c *Collection) error {
			insert := &ClientInsertOneModel{Document: all}
			_, err := c.client.BulkWrite(ctx, []ClientBulkWrite{
				{
					Database:   "db",
					Collection: "a",
					Model:      insert,
				},
				{Database: "db", Collection: "a", Model: insert},
				{Database: "db", Collection: "a", Model: insert},
			})
			return err
		}, replies: []any{none, none}},
		{name: "client bulk write with a getMore", run: func(c *Collection) error {
			_, err := c.client.BulkWrite(ctx, []ClientBulkWrite{
				{Database: "db", Collection: "a", Model: &ClientInsertOneModel{Document: all}},
			})
			return err
		}, replies: []any{scripted.OK(batch("firstBatch", 7)), scripted.OK(batch("nextBatch", 0))}},
		{name: "find, getMore", run: func(c *Collection) error {
			cursor, err := c.Find(ctx, all)
			if err != nil {
				return err
			}
			return cursor.All(ctx, &[]bson.D{})
		}, replies: []any{scripted.OK(batch("firstBatch", 7, all)), scripted.OK(batch("nextBatch", 0))}},
		{name: "find, killCursors", run: func(c *Collection) error {
			cursor, err := c.Find(ctx, all)
			if err != nil {
				return err
			}
			return cursor.Close(ctx)
		}, replies: []any{scripted.OK(batch("firstBatch", 7)), ok}},
		{
			name:    "aggregate",
			run:     func(c *Collection) error { _, err := c.Aggregate(ctx, Pipeline{}); return err },
			replies: []any{none},
		},
		{name: "aggregate with $out", run: func(c *Collection) error {
			_, err := c.Aggregate(ctx, Pipeline{{{Key: "$out", Value: "other"}}})
			return err
		}, replies: []any{none}},
		{
			name:    "count",
			run:     func(c *Collection) error { _, err := c.EstimatedDocumentCount(ctx); return err },
			replies: []any{scripted.OK(bson.E{Key: "n", Value: 1})},
		},
		{
			name:    "distinct",
			run:     func(c *Collection) error { return c.Distinct(ctx, "x", all).Err() },
			replies: []any{scripted.OK(bson.E{Key: "values", Value: bson.A{}})},
		},
		{
			name:    "listCollections",
			run:     func(c *Collection) error { _, err := c.Database().ListCollectionNames(ctx, all); return err },
			replies: []any{none},
		},
		{name: "listDatabases", run: func(c *Collection) error { _, err := c.client.ListDatabaseNames(ctx, all); return err },
			replies: []any{scripted.OK(bson.E{Key: "databases", Value: bson.A{}})}},
		{name: "GridFS upload", run: func(c *Collection) error {
			_, err := c.Database().GridFSBucket().UploadFromStream(ctx, "file", bytes.NewReader([]byte("content")))
			return err
		}, replies: []any{scripted.OK(batch("firstBatch", 0, bson.D{})), ok, ok}},
		{name: "GridFS rename", run: func(c *Collection) error {
			return c.Database().GridFSBucket().Rename(ctx, 1, "other")
		}, replies: []any{scripted.OK(bson.E{Key: "n", Value: 1}, bson.E{Key: "nModified", Value: 1})}},
		{
			name:    "commitTransaction",
			run:     func(c *Collection) error { return endTransaction(ctx, c, (*Session).CommitTransaction) },
			replies: []any{ok, ok},
		},
		{
			name:    "abortTransaction",
			run:     func(c *Collection) error { return endTransaction(ctx, c, (*Session).AbortTransaction) },
			replies: []any{ok, ok},
		},
	}
	for _, tt := range tests {
		tt := tt
		t.Run(tt.name, func(t *testing.T) {
			s := scripted.New(t)
			for _, reply := range tt.replies {
				s.Replies = append(s.Replies, scripted.Overloaded(), scripted.Overloaded(), reply)
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
			s := scripted.New(t, scripted.Rejected())
			s.Policy.RetryReads, s.Policy.RetryWrites = false, false
			err := run(connectScript(t, s).Database("db").Collection("coll"))
			s.Finish()
			require.Error(t, err)
			assert.True(t, errorHasLabel(err, driver.NoWritesPerformed), "got %T (%v)", err, err)
		})
	}
}

func batch(name string, id int64, docs ...any) bson.E {
	return bson.E{Key: "cursor", Value: bson.D{
		{Key: "id", Value: id}, {Key: "ns", Value: "db.coll"}, {Key: name, Value: append(bson.A{}, docs...)},
	}}
}

// TestEndSessionsHaveOneBudget is about Disconnect, which sends a command for each 10,000 sessions: who waits for it waits for the backoffs
// of one command, not for those of each.
func TestEndSessionsHaveOneBudget(t *testing.T) {
	const batches = 3
	tests := []struct {
		name     string
		replies  []any
		rest     any
		retries  retry.Limit
		sent     int
		backoffs int
	}{
		{name: "all well", rest: scripted.OK(), retries: 5, sent: batches},
		{name: "every command rejected", rest: scripted.Overloaded(), retries: 5, sent: 6, backoffs: 5},
		{
			name:    "the second batch rejected to the end",
			replies: []any{scripted.Overloaded(), scripted.OK()}, rest: scripted.Overloaded(),
			retries: 2, sent: 2 + 3, backoffs: 1 + 2,
		},
		{
			name:    "rejected, then executed",
			replies: []any{scripted.Overloaded(), scripted.Overloaded()}, rest: scripted.OK(),
			retries: 5, sent: 2 + batches, backoffs: 2,
		},
		{name: "no retries", rest: scripted.Overloaded(), sent: 1},
		{name: "another error", rest: scripted.Failure(1), retries: 5, sent: batches},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := scripted.New(t, tt.replies...)
			s.Rest = tt.rest
			s.Policy.MaxRetries = tt.retries
			client := connectScript(t, s)
			var sessions []*Session
			for len(sessions) <= (batches-1)*endSessionsBatchSize {
				session, err := client.StartSession()
				require.NoError(t, err)
				sessions = append(sessions, session)
			}
			for _, session := range sessions {
				session.EndSession(context.Background())
			}

			require.NoError(t, client.Disconnect(context.Background()))
			assert.Len(t, s.Sent, tt.sent)
			assert.Len(t, s.Slept, tt.backoffs)
			s.Finish()
		})
	}
}
