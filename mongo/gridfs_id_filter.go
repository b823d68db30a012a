package mongo

import "go.mongodb.org/mongo-driver/v2/bson"

// fileFilter returns a filter of a field for exactly this file ID. Query operators in an ID have no effect.
func fileFilter(field string, id any) bson.D {
	return bson.D{{Key: field, Value: bson.D{{Key: "$eq", Value: id}}}}
}
