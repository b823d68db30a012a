package topology

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/answer"
)

// rule determines what a secondary does with a command. Commands without a rule run everywhere: they concern the connection, the
// session, the process, or existing cursors.
type rule int

const (
	anywhere    rule = iota
	onPrimary        // on nothing but a primary
	onSecondary      // on a secondary, when the client says that it may be one
)

func ruleOf(command string) rule {
	switch command {
	case "find", "aggregate", "count", "distinct", "mapReduce", "explain",
		"listCollections", "listIndexes", "listDatabases", "dbStats", "collStats", "dataSize", "validate":
		return onSecondary
	case "insert", "update", "delete", "bulkWrite", "findAndModify", "findandmodify",
		"create", "createIndexes", "drop", "dropDatabase", "dropIndexes", "collMod", "renameCollection", "convertToCapped",
		"createSearchIndexes", "updateSearchIndex", "dropSearchIndex",
		"createUser", "updateUser", "dropUser", "dropAllUsersFromDatabase", "grantRolesToUser", "revokeRolesFromUser",
		"createRole", "updateRole", "dropRole",
		"commitTransaction", "abortTransaction", "setFeatureCompatibilityVersion", "setDefaultRWConcern":
		return onPrimary
	default:
		return anywhere
	}
}

// refuseSecondary returns an error if a replica set's member does not run the command. Before a new primary is elected every
// member is a secondary.
func refuseSecondary(v view, command string, doc bson.Raw) *answer.Error {
	if v.role == RolePrimary {
		return nil
	}
	rule := ruleOf(command)
	switch {
	case rule == anywhere:
		return nil
	case rule == onPrimary || inTransaction(doc):
		return v.notWritablePrimary(doc)
	case readsFromSecondary(doc):
		return nil
	default:
		return v.notPrimary(answer.CodeNotPrimaryNoSecondaryOk,
			"not primary and secondaryOk=false: give a read preference to read from a secondary", doc)
	}
}

func (v view) notWritablePrimary(doc bson.Raw) *answer.Error {
	return v.notPrimary(answer.CodeNotWritablePrimary, "not primary", doc)
}

// readsFromSecondary reports whether the client accepts members other than the primary.
func readsFromSecondary(doc bson.Raw) bool {
	mode, ok := doc.Lookup("$readPreference", "mode").StringValueOK()
	return ok && mode != "primary"
}
