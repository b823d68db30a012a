//fork:base >=v2.9.1

package mongo

import "go.mongodb.org/mongo-driver/v2/bson"

// fileFilter returns a filter of a field for exactly this file ID.
func fileFilter(field string, id any) bson.D { return idFilter(field, id) }
