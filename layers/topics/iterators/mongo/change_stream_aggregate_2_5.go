//fork:base <v2.9.0

package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

//fork:remove ChangeStream.createOperationDeployment the aggregate selects its servers itself
//fork:remove changeStreamDeployment the aggregate selects its servers itself

// runAggregate sends the stream's aggregate and returns the reply. Since v2.9.0 the type of the aggregate is another.
func (cs *ChangeStream) runAggregate(ctx context.Context) (driver.CursorResponse, error) {
	if cs.client.retryReads {
		cs.aggregate.Retry(driver.RetryOncePerCommand)
	}
	if err := cs.aggregate.Execute(ctx); err != nil {
		return driver.CursorResponse{}, err
	}
	return cs.aggregate.ResultCursorResponse(), nil
}

func (cs *ChangeStream) setPipeline(pipeline bsoncore.Document) { cs.aggregate.Pipeline(pipeline) }
