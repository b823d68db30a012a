//fork:base <v2.9.0

package operation_test

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/operation"
)

// TestEndSessionsAfterARejection is about a batch that was rejected in the end: the next is not sent, and has the same error.
func TestEndSessionsAfterARejection(t *testing.T) {
	s := scripted.New(t, scripted.Failure(13), scripted.Rejected())
	s.Policy.MaxRetries = 0
	op := operation.NewEndSessions(bsoncore.NewDocumentBuilder().Build()).Database("admin").Deployment(s)
	assert.ErrorContains(t, op.Execute(context.Background()), "scripted")
	rejected := op.Execute(context.Background())
	assert.Error(t, rejected)
	assert.Equal(t, rejected, op.Execute(context.Background()))
	s.Finish()
}
