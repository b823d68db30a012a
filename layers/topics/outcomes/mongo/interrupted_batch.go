package mongo

import "go.mongodb.org/mongo-driver/v2/x/mongo/driver"

// processWriteError converts the error of a write. Of one with Batches, it is that of the only one.
//
//fork:wrap an operation with Batches tells what each has done
func processWriteError(err error) (returnResult, error) {
	if batches, ok := err.(driver.BatchesError); ok {
		err = batches.Err
	}
	return upstreamProcessWriteError(err)
}
