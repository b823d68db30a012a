//fork:base <v2.8.2

package mongo

import "context"

//fork:extend the write concern error of one batch outlives the next
type bulkWrite struct {
	concernError *WriteConcernError // of the latest batch that had one
}

// runBatch runs one batch. The caller reports the write concern error of the last batch alone, so that it gets here the one
// that is to be reported.
//
//fork:wrap a later batch erased the write concern error of an earlier one
//fork:watch bulkWrite.execute
func (bw *bulkWrite) runBatch(ctx context.Context, batch bulkWriteBatch) (BulkWriteResult, BulkWriteException, error) {
	res, failed, err := bw.upstreamRunBatch(ctx, batch)
	if failed.WriteConcernError == nil {
		failed.WriteConcernError = bw.concernError
	}
	bw.concernError = failed.WriteConcernError
	return res, failed, err
}
