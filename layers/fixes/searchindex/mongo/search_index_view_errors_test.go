package mongo

import (
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/drivertest"
)

// Errors of the server are of the types of this package.
func TestSearchIndexViewErrors(t *testing.T) {
	for name, run := range map[string]func(SearchIndexView) error{
		"DropOne":   func(siv SearchIndexView) error { return siv.DropOne(bgCtx, "index") },
		"UpdateOne": func(siv SearchIndexView) error { return siv.UpdateOne(bgCtx, "index", bson.D{}) },
	} {
		client := setupClient()
		client.deployment = drivertest.NewMockDeployment(bson.D{{"ok", 0}, {"code", 13}, {"codeName", "Unauthorized"}})
		var got CommandError
		err := run(client.Database("db").Collection("coll").SearchIndexes())
		assert.True(t, errors.As(err, &got), "%s: got %T", name, err)
		assert.Equal(t, int32(13), got.Code, name)
	}
}
