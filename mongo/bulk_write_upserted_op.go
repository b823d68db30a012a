//fork:base >=v2.9.0

package mongo

import "context"

// runUpdate runs a batch of updates.
//
//fork:wrap an upserted document that is none of the batch made the client panic
func (bw *bulkWrite) runUpdate(ctx context.Context, batch bulkWriteBatch) (updateResult, error) {
	res, retErr := bw.upstreamRunUpdate(ctx, batch)
	for _, upserted := range res.Upserted {
		if malformed := checkUpserted(upserted.Index, batch); malformed != nil {
			return updateResult{}, malformed
		}
	}
	return res, bw.note(retErr)
}

//fork:wrap an interrupted write tells the context's error as well
func (bw *bulkWrite) runDelete(ctx context.Context, batch bulkWriteBatch) (deleteResult, error) {
	res, retErr := bw.upstreamRunDelete(ctx, batch)
	return res, bw.note(retErr)
}
