package mongo

import "fmt"

// checkUpserted returns an error if a reported index of an upserted document is not in the batch.
func checkUpserted(index int64, batch bulkWriteBatch) error {
	if index < 0 || index >= int64(len(batch.models)) {
		return fmt.Errorf(
			"malformed reply: the server reports that it upserted document %d of a batch of %d",
			index,
			len(batch.models),
		)
	}
	return nil
}
