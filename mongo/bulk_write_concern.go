//fork:base <v2.8.2

package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
)

//fork:extend the write concern error of one batch, and its interruption, outlive the next
type bulkWrite struct {
	concernError *WriteConcernError         // of the last batch that had one
	interruption *backpressure.Interruption // the same
}

// runBatch runs one batch. The caller reports only the last batch's write concern error, so runBatch gives it the one to report.
//
//fork:wrap a later batch erased the write concern error of an earlier one
func (bw *bulkWrite) runBatch(ctx context.Context, batch bulkWriteBatch) (BulkWriteResult, BulkWriteException, error) {
	retRes, failed, err := bw.upstreamRunBatch(ctx, batch)
	if failed.WriteConcernError == nil {
		failed.WriteConcernError = bw.concernError
	}
	bw.concernError = failed.WriteConcernError
	return retRes, failed, err
}
