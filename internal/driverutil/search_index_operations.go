// Package driverutil has what the driver's packages share, such as the names of operations.
package driverutil

// Names of the commands for search indexes.
const (
	CreateSearchIndexesOp = "createSearchIndexes" // CreateSearchIndexesOp is the name for creating search indexes
	DropSearchIndexOp     = "dropSearchIndex"     // DropSearchIndexOp is the name for dropping a search index
	UpdateSearchIndexOp   = "updateSearchIndex"   // UpdateSearchIndexOp is the name for updating a search index
)
