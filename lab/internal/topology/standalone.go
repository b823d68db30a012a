package topology

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/answer"
)

// refuseStandalone returns why a server that is no member of a set does not run the command; nil where it does.
func refuseStandalone(command string, doc bson.Raw) *answer.Error {
	switch {
	case has(doc, "txnNumber"):
		return answer.Errorf(answer.CodeIllegalOperation,
			"Transaction numbers are only allowed on a replica set member or mongos")
	case command == "aggregate" && firstStage(doc) == "$changeStream":
		return answer.Errorf(codeNoChangeStream, "The $changeStream stage is only supported on replica sets")
	case isReplicaSetCommand(command):
		return answer.Errorf(codeNoReplication, "not running with --replSet")
	default:
		return nil
	}
}

func firstStage(aggregate bson.Raw) string {
	stage, ok := aggregate.Lookup("pipeline", "0").DocumentOK()
	if !ok {
		return ""
	}
	return firstKey(stage)
}
