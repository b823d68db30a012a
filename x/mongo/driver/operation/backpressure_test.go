//fork:base <v2.9.0

package operation_test

import (
	"context"
	"testing"

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
	ctx := context.Background()
	for name, execute := range map[string]func(driver.Deployment) error{
		"create": func(d driver.Deployment) error {
			return operation.NewCreate("coll").Database("db").Deployment(d).Execute(ctx)
		},
		"createSearchIndexes": func(d driver.Deployment) error {
			return operation.NewCreateSearchIndexes(document).Collection("coll").Database("db").Deployment(d).Execute(ctx)
		},
		"dropSearchIndex": func(d driver.Deployment) error {
			return operation.NewDropSearchIndex("index").Collection("coll").Database("db").Deployment(d).Execute(ctx)
		},
		"updateSearchIndex": func(d driver.Deployment) error {
			return operation.NewUpdateSearchIndex("index", document).Collection("coll").Database("db").Deployment(d).Execute(ctx)
		},
	} {
		s := scripted.New(t, scripted.Overloaded(), scripted.OK())
		s.Policy.RetryReads = false
		require.NoError(t, execute(s), name)
		s.Finish()

		s = scripted.New(t, scripted.Overloaded())
		s.Policy.RetryWrites = false
		assert.Error(t, execute(s), name)
		s.Finish()

		assert.Error(t, execute(nil), "%s without a deployment", name)
	}
}

func TestRunCommandCursorNeedsBothOptions(t *testing.T) {
	command := bsoncore.NewDocumentBuilder().AppendString("find", "coll").Build()
	s := scripted.New(t, scripted.OpenedCursor(), scripted.Overloaded())
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
