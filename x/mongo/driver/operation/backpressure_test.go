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
