package mongo

import (
	"context"
	"errors"
	"io"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// TestLabelsOfALostReply is about a write whose reply is lost, and whose retries are all rejected: it may have been executed, so its error
// is that of the lost reply, as it is (retryable-writes.md, "Executing Retryable Write Commands"). If all attempts are rejected, the error
// is a rejection's. The error of a call of several commands has the same labels.
func TestLabelsOfALostReply(t *testing.T) {
	models := []WriteModel{NewInsertOneModel().SetDocument(bson.D{})}
	for name, run := range map[string]func(context.Context, *Collection) error{
		"InsertOne":  insertAny,
		"InsertMany": func(ctx context.Context, c *Collection) error { return second(c.InsertMany(ctx, []any{bson.D{}})) },
		"BulkWrite":  func(ctx context.Context, c *Collection) error { return second(c.BulkWrite(ctx, models)) },
		"BulkWrite, not ordered": func(ctx context.Context, c *Collection) error {
			return second(c.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false)))
		},
		"Client.BulkWrite": func(ctx context.Context, c *Collection) error {
			return second(c.Database().Client().BulkWrite(ctx, inserts(1)))
		},
	} {
		for _, lost := range []bool{true, false} {
			s := scripted.New(t)
			if lost {
				s.Replies = []any{driver.Error{Labels: []string{driver.NetworkError}, Wrapped: io.EOF}}
			}
			s.Rest = scripted.Rejected()
			err := run(context.Background(), connectScript(t, s).Database("db").Collection("coll"))
			require.Error(t, err, name)
			require.Greater(t, len(s.Sent), 2, name)
			for _, label := range []string{driver.ErrSystemOverloadedError, driver.ErrRetryableError, driver.NoWritesPerformed} {
				assert.Equal(t, !lost, errorHasLabel(err, label), "%s, lost %v: %s", name, lost, label)
			}
			assert.Equal(t, lost, errors.Is(err, io.EOF), "%s, lost %v: %v", name, lost, err)
			if name != "InsertOne" {
				assert.Equal(t, lost, len(BulkOutcome(err, 1).Unknown) == 1, "%s, lost %v", name, lost)
			}
		}
	}
}
