//fork:base <v2.9.0

package operation_test

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/operation"
)

// TestWritesWithoutType is about the commands whose operations do not say that they are writes.
func TestWritesWithoutType(t *testing.T) {
	document := bsoncore.NewDocumentBuilder().Build()
	tests := []struct {
		name    string
		execute func(driver.Deployment) error
	}{
		{name: "create", execute: func(d driver.Deployment) error {
			return operation.NewCreate("coll").Database("db").Deployment(d).Execute(context.Background())
		}},
		{name: "createSearchIndexes", execute: func(d driver.Deployment) error {
			op := operation.NewCreateSearchIndexes(document).Collection("coll").Database("db").Deployment(d)
			return op.Execute(context.Background())
		}},
		{name: "dropSearchIndex", execute: func(d driver.Deployment) error {
			op := operation.NewDropSearchIndex("index").Collection("coll").Database("db").Deployment(d)
			return op.Execute(context.Background())
		}},
		{name: "updateSearchIndex", execute: func(d driver.Deployment) error {
			op := operation.NewUpdateSearchIndex("index", document).Collection("coll").Database("db").Deployment(d)
			return op.Execute(context.Background())
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := scripted.New(t, scripted.Overloaded(), scripted.OK())
			s.Policy.RetryReads = false
			require.NoError(t, tt.execute(s))
			s.Finish()

			s = scripted.New(t, scripted.Overloaded())
			s.Policy.RetryWrites = false
			assert.Error(t, tt.execute(s))
			s.Finish()

			assert.Error(t, tt.execute(nil), "without a deployment")
		})
	}
}

func TestRunCommandCursorNeedsBothOptions(t *testing.T) {
	command := bsoncore.NewDocumentBuilder().AppendString("find", "coll").Build()
	cursor := bson.E{Key: "cursor", Value: bson.D{
		{Key: "id", Value: int64(7)}, {Key: "ns", Value: "db.coll"}, {Key: "firstBatch", Value: bson.A{}},
	}}
	s := scripted.New(t, scripted.OK(cursor), scripted.Overloaded())
	s.Policy.RetryWrites = false

	op := operation.NewCursorCommand(command, driver.CursorOptions{}).Database("db").Deployment(s)
	require.NoError(t, op.Execute(context.Background()))
	opened, err := op.ResultCursor()
	require.NoError(t, err)
	assert.False(t, opened.Next(context.Background()), "the first batch is empty")
	assert.False(t, opened.Next(context.Background()))
	assert.Error(t, opened.Err())
	s.Finish()
}

func TestNoCursorOfACommandWithoutOne(t *testing.T) {
	_, err := operation.NewCommand(nil).ResultCursor()
	assert.Error(t, err)
}
