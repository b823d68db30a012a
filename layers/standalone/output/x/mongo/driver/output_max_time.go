package driver

import "go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

// hasOwnMaxTime reports whether the application has set maxTimeMS in a command that is being written, of which the
// length is not known yet.
func hasOwnMaxTime(unfinished []byte) bool {
	const length = 4
	_, err := bsoncore.Document(bsoncore.BuildDocument(nil, unfinished[length:])).LookupErr("maxTimeMS")
	return err == nil
}
