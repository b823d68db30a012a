//fork:base <v2.9.0

package operation

import (
	"errors"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// buildCountResult reads the number of documents from a reply, which holds it as n, or as n of the first document of a cursor.
//
//fork:wrap a cursor that is no document, or that has no first document, made it panic
func buildCountResult(response bsoncore.Document) (CountResult, error) {
	cursor, err := response.LookupErr("cursor")
	if err != nil {
		return upstreamBuildCountResult(response)
	}
	doc, _ := cursor.DocumentOK() // what is missing here and below leaves first empty
	batch, _ := doc.Lookup("firstBatch").ArrayOK()
	first, _ := batch.IndexErr(0)
	if _, ok := first.DocumentOK(); !ok {
		return CountResult{}, errors.New("the reply's cursor has no document with a count")
	}
	return upstreamBuildCountResult(response)
}
