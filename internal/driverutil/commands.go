// Package driverutil has what the driver's packages share, such as the names of operations.
package driverutil

import "go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

// Names of the commands for search indexes.
const (
	CreateSearchIndexesOp = "createSearchIndexes" // CreateSearchIndexesOp is the name for creating search indexes
	DropSearchIndexOp     = "dropSearchIndex"     // DropSearchIndexOp is the name for dropping a search index
	UpdateSearchIndexOp   = "updateSearchIndex"   // UpdateSearchIndexOp is the name for updating a search index
)

// CommandName returns the name of a command, which is the key of its first element.
func CommandName(command bsoncore.Document) string {
	first, err := command.IndexErr(0)
	if err != nil {
		return "" // the error of an empty or malformed command comes later
	}
	return first.Key()
}
