package topology

import (
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"mongofork/lab/internal/answer"
	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

// shardName is the one shard of every sharded cluster of this package.
const shardName = "lab-shard"

// recoveryToken is the token that a router returns in a transaction, so that another one can find its outcome. Routers understand
// it, the backend does not.
const recoveryToken = "recoveryToken"

// Routes reports whether clients see routers: of a sharded cluster, or behind a load balancer.
func (s Spec) Routes() bool { return s.Kind == Sharded || s.Kind == LoadBalanced }

// refuseRouter returns an error if a router does not run a command.
func refuseRouter(command string) *answer.Error {
	if isReplicaSetCommand(command) {
		return answer.Errorf(answer.CodeCommandNotFound, "no such command: '%s'", command)
	}
	return nil
}

func withoutRecoveryToken(req *proxy.Request) {
	if doc := req.Document(); bsondoc.Has(doc, recoveryToken) {
		req.Message.SetDocument(bsondoc.Rebuild(doc, []string{recoveryToken}, nil))
	}
}

func withRecoveryToken(answer *wire.Message) {
	if doc := answer.Document(); doc != nil && bsondoc.Succeeded(doc) {
		answer.SetDocument(bsondoc.Rebuild(doc, nil, appendRecoveryToken))
	}
}

func appendRecoveryToken(dst []byte) []byte {
	i, dst := bsoncore.AppendDocumentElementStart(dst, recoveryToken)
	dst = bsoncore.AppendStringElement(dst, "recoveryShardId", shardName)
	dst, _ = bsoncore.AppendDocumentEnd(dst, i)
	return dst
}

func isShardsQuery(command string, doc bson.Raw) bool {
	collection, _ := doc.Lookup("find").StringValueOK()
	return command == "find" && collection == "shards"
}

// shards returns the content of config.shards: clients tell from the form of the host what the shards are.
func (m *member) shards() bson.D {
	return bson.D{{Key: "cursor", Value: bson.D{
		{Key: "firstBatch", Value: bson.A{bson.D{
			{Key: "_id", Value: shardName}, {Key: "host", Value: shardName + "/" + m.host}, {Key: "state", Value: 1},
		}}},
		{Key: "id", Value: int64(0)}, {Key: "ns", Value: "config.shards"},
	}}}
}
