//fork:base <v2.10.0

package mongo

import "go.mongodb.org/mongo-driver/v2/x/mongo/driver"

// withNewerOptions returns the operation: this version has no options that older ones lack.
func (bw *clientBulkWrite) withNewerOptions(op driver.Operation) driver.Operation { return op }
