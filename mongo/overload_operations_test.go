package mongo

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

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

// TestEndSessionsHaveOneBudget is about Disconnect, which sends a command for each 10,000 sessions: whoever waits for it waits for the
// backoffs of one command, not for those of each.
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
		{name: "the second batch rejected to the end", replies: []any{scripted.Overloaded(), scripted.OK()},
			rest: scripted.Overloaded(), retries: 2, sent: 2 + 3, backoffs: 1 + 2},
		{name: "rejected, then executed", replies: []any{scripted.Overloaded(), scripted.Overloaded()}, rest: scripted.OK(),
			retries: 5, sent: 2 + batches, backoffs: 2},
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
