package mongo

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/drivertest"
)

func init() { topics["reply-types"] = true }

// TestCreateSearchIndexWithoutName is about replies that name no search index.
func TestCreateSearchIndexWithoutName(t *testing.T) {
	for _, reply := range []bson.D{{{Key: "ok", Value: 1}}, {{Key: "ok", Value: 1}, {Key: "indexesCreated", Value: bson.A{}}}} {
		client := setupClient()
		client.deployment = drivertest.NewMockDeployment(reply)
		view := client.Database("db").Collection("coll").SearchIndexes()
		assert.ErrorContains(t, second(view.CreateOne(bgCtx, SearchIndexModel{Definition: bson.D{}})), "names no search index", "%v", reply)
	}
}

// TestCreateSearchIndex is about the model that is sent, and the name in the reply.
func TestCreateSearchIndex(t *testing.T) {
	named := bson.A{bson.D{{Key: "name", Value: "n"}}}
	s := scripted.New(t, scripted.OK(bson.E{Key: "indexesCreated", Value: named}))
	name, err := scriptColl(t, s).SearchIndexes().CreateOne(bgCtx, SearchIndexModel{Definition: bson.D{{Key: "x", Value: 1}}})
	assert.NoError(t, err)
	assert.Equal(t, "n", name)
	assert.Equal(t, int32(1), s.Sent[0].Command.Lookup("indexes", "0", "definition", "x").Int32())
}
