package mongo

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/drivertest"
)

var _ = noted("reply-types")

// TestCreateSearchIndexWithoutName is about replies that name no search index.
func TestCreateSearchIndexWithoutName(t *testing.T) {
	for _, reply := range []bson.D{{{Key: "ok", Value: 1}}, {{Key: "ok", Value: 1}, {Key: "indexesCreated", Value: bson.A{}}}} {
		client := setupClient()
		client.deployment = drivertest.NewMockDeployment(reply)
		view := client.Database("db").Collection("coll").SearchIndexes()
		assert.ErrorContains(t, second(view.CreateOne(bgCtx, SearchIndexModel{Definition: bson.D{}})), "names no search index", "%v", reply)
	}
}
