//fork:base <v2.9.2

package mongo

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
)

// TestClientBulkWriteDatabaseWithDot is about where a write goes if the name of its database has a dot in it: nowhere.
func TestClientBulkWriteDatabaseWithDot(t *testing.T) {
	good := ClientBulkWrite{Database: "db", Collection: "a.b", Model: NewClientInsertOneModel().SetDocument(bson.D{})}
	for _, name := range []string{"db.other", ".", ".db", "db.", "a.b.c"} {
		for _, at := range []int{0, 1} {
			writes := []ClientBulkWrite{good, good}
			writes[at].Database = name
			script := scripted.New(t)
			_, err := connectScript(t, script).BulkWrite(context.Background(), writes)
			require.Error(t, err, name)
			assert.Contains(t, err.Error(), name)
			assert.Empty(t, script.Sent, "nothing is sent")
		}
	}
}
