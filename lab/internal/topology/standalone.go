package topology

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/answer"
	"mongofork/lab/internal/bsondoc"
)

// refuseStandalone returns why a standalone server does not run the command, or nil if it does.
func refuseStandalone(command string, doc bson.Raw) *answer.Error {
	switch {
	case bsondoc.Has(doc, "txnNumber"):
		return answer.Errorf(answer.CodeIllegalOperation,
			"Transaction numbers are only allowed on a replica set member or mongos")
	case command == "aggregate" && firstStage(doc) == "$changeStream":
		return answer.Errorf(answer.CodeNoChangeStream, "The $changeStream stage is only supported on replica sets")
	case isReplicaSetCommand(command):
		return answer.Errorf(answer.CodeNoReplicationEnabled, "not running with --replSet")
	default:
		return nil
	}
}

func firstStage(aggregate bson.Raw) string {
	stage, ok := aggregate.Lookup("pipeline", "0").DocumentOK()
	if !ok {
		return ""
	}
	return bsondoc.FirstKey(stage)
}
