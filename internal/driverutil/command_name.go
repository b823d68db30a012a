package driverutil

import "go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

// CommandName returns the name of a command, which is the key of its first element.
func CommandName(command bsoncore.Document) string {
	first, err := command.IndexErr(0)
	if err != nil {
		return ""
	}
	return first.Key()
}
