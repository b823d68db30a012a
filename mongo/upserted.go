package mongo

import "fmt"

// checkUpserted returns an error if the index that a server reports of an upserted document is none of the batch.
func checkUpserted(index int64, batch bulkWriteBatch) error {
	if index < 0 || index >= int64(len(batch.models)) {
		return fmt.Errorf("malformed reply: the server reports that it upserted document %d of a batch of %d", index, len(batch.models))
	}
	return nil
}
