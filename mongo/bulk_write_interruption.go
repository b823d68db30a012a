//fork:base >=v2.8.2

package mongo

import "go.mongodb.org/mongo-driver/v2/internal/backpressure"

//fork:extend the interruption of one batch outlives the next
type bulkWrite struct {
	interruption *backpressure.Interruption // of the last batch that had one
}
