//fork:base >=v2.10.0

package mongo

import "go.mongodb.org/mongo-driver/v2/x/mongo/driver"

// withNewerOptions returns the operation with the options that older versions lack.
func (bw *clientBulkWrite) withNewerOptions(op driver.Operation) driver.Operation {
	op.MaxAdaptiveRetries = bw.maxAdaptiveRetries
	op.EnableOverloadRetargeting = bw.enableOverloadRetargeting
	op.SendAfterClusterTime = true
	return op
}
