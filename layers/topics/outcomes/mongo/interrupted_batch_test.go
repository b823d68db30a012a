package mongo

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// TestInterruptedBulkWrite is about the second of two models, which are sent in commands of their own: the interruption must not hide
// which model has failed.
func TestInterruptedBulkWrite(t *testing.T) {
	failed := scripted.OK(
		writeErrorsAt(0), concernError(462),
		bson.E{Key: "errorLabels", Value: bson.A{driver.ErrSystemOverloadedError, driver.ErrRetryableError}},
	)
	models := []WriteModel{NewDeleteOneModel().SetFilter(bson.D{}), NewInsertOneModel().SetDocument(bson.D{})}
	ctx := scripted.NewContext()
	s := scripted.New(t, scripted.OK(), failed)
	s.OnSleep = func() { ctx.End(context.DeadlineExceeded) }
	_, err := connectScript(t, s).Database("db").Collection("coll").BulkWrite(ctx, models)
	s.Finish()

	assert.True(t, errors.Is(err, context.DeadlineExceeded), "%v does not wrap the context's error", err)
	var exception BulkWriteException
	require.True(t, errors.As(err, &exception), "got %T (%v)", err, err)
	require.Len(t, exception.WriteErrors, 1)
	assert.Equal(t, 1, exception.WriteErrors[0].Index)
	assert.Equal(t, models[1], exception.WriteErrors[0].Request)
	assert.Equal(t, []string{driver.ErrSystemOverloadedError}, exception.Labels, "the first was deleted")
}

// TestInterruptedBulkWriteWithoutServer is about the batch after an interrupted one, for which there is no server: its error is told once.
func TestInterruptedBulkWriteWithoutServer(t *testing.T) {
	ctx := scripted.NewContext()
	s := scripted.New(t, executedButOverloaded(), scripted.NoServer{Err: context.DeadlineExceeded})
	s.OnSleep = func() { ctx.End(context.DeadlineExceeded) }
	models := []WriteModel{NewInsertOneModel().SetDocument(bson.D{}), NewDeleteOneModel().SetFilter(bson.D{})}
	_, err := connectScript(t, s).Database("db").Collection("coll").BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
	s.Finish()

	require.Error(t, err)
	assert.Equal(t, 1, strings.Count(err.Error(), context.DeadlineExceeded.Error()), err.Error())
}
