package mongo

import (
	"context"
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// executedButOverloaded is the reply to a write that the server executed, but could not replicate for overload.
func executedButOverloaded() bson.D {
	return scripted.OK(bson.E{Key: "writeConcernError", Value: bson.D{
		{Key: "code", Value: 462},
		{Key: "errmsg", Value: "scripted"},
		{Key: "errorLabels", Value: bson.A{driver.ErrSystemOverloadedError, driver.ErrRetryableError}},
	}})
}

// TestInterruptedWrite is about a context that ends during the backoff after that: an application has to see both.
func TestInterruptedWrite(t *testing.T) {
	single := func(err error) *WriteConcernError {
		var exception WriteException
		_ = errors.As(err, &exception)
		return exception.WriteConcernError
	}
	bulk := func(err error) *WriteConcernError {
		var exception BulkWriteException
		_ = errors.As(err, &exception)
		return exception.WriteConcernError
	}

	tests := []struct {
		name string
		run  func(context.Context, *Collection) error
		// found finds the write concern error in the exception that the method returns.
		found func(error) *WriteConcernError
		topic string // that promises it
	}{
		{name: "InsertOne",
			run:   func(ctx context.Context, c *Collection) error { _, err := c.InsertOne(ctx, bson.D{}); return err },
			found: single},
		{name: "InsertMany",
			run: func(ctx context.Context, c *Collection) error {
				_, err := c.InsertMany(ctx, []any{bson.D{}})
				return err
			},
			found: bulk, topic: "outcomes"},
		{name: "DeleteOne",
			run:   func(ctx context.Context, c *Collection) error { _, err := c.DeleteOne(ctx, bson.D{}); return err },
			found: single},
		{name: "UpdateMany", run: func(ctx context.Context, c *Collection) error {
			_, err := c.UpdateMany(ctx, bson.D{}, bson.D{{Key: "$set", Value: bson.D{{Key: "x", Value: 1}}}})
			return err
		}, found: single},
		{name: "FindOneAndDelete",
			run:   func(ctx context.Context, c *Collection) error { return c.FindOneAndDelete(ctx, bson.D{}).Err() },
			found: single},
		{name: "BulkWrite", run: func(ctx context.Context, c *Collection) error {
			_, err := c.BulkWrite(ctx, []WriteModel{NewInsertOneModel().SetDocument(bson.D{})})
			return err
		}, found: bulk, topic: "outcomes"},
		{name: "Drop", run: func(ctx context.Context, c *Collection) error { return c.Drop(ctx) }, found: single},
		{name: "RunCommand", run: func(ctx context.Context, c *Collection) error {
			return c.Database().RunCommand(ctx, bson.D{{Key: "x", Value: 1}}).Err()
		}, found: single},
	}
	for _, tt := range tests {
		tt := tt
		if !topics[tt.topic] {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			ctx := scripted.NewContext()
			s := scripted.New(t, executedButOverloaded())
			s.OnSleep = func() { ctx.End(context.DeadlineExceeded) }
			err := tt.run(ctx, connectScript(t, s).Database("db").Collection("coll"))
			s.Finish()

			require.Error(t, err)
			assert.True(t, IsTimeout(err), "%v is no timeout", err)
			assert.True(t, errors.Is(err, context.DeadlineExceeded))
			assert.True(t, errorHasLabel(err, driver.ErrSystemOverloadedError), "%v has lost its labels", err)
			found := tt.found(err)
			require.NotNil(t, found, "got %T (%v)", err, err)
			assert.Equal(t, 462, found.Code)
		})
	}
}
