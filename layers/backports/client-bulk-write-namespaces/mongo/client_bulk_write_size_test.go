//fork:base <v2.10.0

package mongo

import (
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// TestClientBulkWriteToManyNamespaces writes to so many namespaces that the bytes around their names exceed the 1000 that are reserved.
func TestClientBulkWriteToManyNamespaces(t *testing.T) {
	const models, limit = 3000, 60_000
	client := &Client{retryWrites: true, registry: bson.NewRegistry()}
	for _, perNamespace := range []int{1, 2, 7, models} {
		mb := &modelBatches{client: client}
		for i := 0; i < models; i++ {
			model := ClientWriteModel(NewClientInsertOneModel().SetDocument(bson.D{{Key: "_id", Value: i}}))
			if i == models-1 {
				model = NewClientDeleteManyModel().SetFilter(bson.D{})
			}
			mb.writePairs = append(mb.writePairs, clientBulkWritePair{namespace: fmt.Sprintf("db.%06d", i/perNamespace), model: model})
		}
		command := make([]byte, 100)
		for mb.Size() > 0 {
			before := mb.offset
			n, message, err := mb.AppendBatchSequence(command, models, limit)
			require.NoError(t, err)
			require.NotEqual(t, 0, n)
			assert.LessOrEqual(t, len(message), limit-1000, "%d models to a namespace", perNamespace)
			last := before+n == models
			assert.True(t, last || len(message) > limit-1000-100, "%d bytes leave room for another model", len(message))
			assert.Equal(t, last, mb.retryMode == driver.RetryNone, "the last batch has a model that cannot be retried")
			mb.AdvanceBatches(n)
		}
	}
}
