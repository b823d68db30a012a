package topology

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/handlertest"
)

func e(key string, value any) bson.E { return bson.E{Key: key, Value: value} }

func TestSecondaryRefuses(t *testing.T) {
	c := newCluster(t, ReplicaSet, 2)
	nearest := e("$readPreference", bson.D{e("mode", "nearest")})
	primary := e("$readPreference", bson.D{e("mode", "primary")})
	for _, test := range []struct {
		code    int32
		command bson.D
	}{
		{10107, bson.D{e("insert", "c")}},
		{10107, bson.D{e("insert", "c"), nearest}},
		{10107, bson.D{e("createIndexes", "c")}},
		{10107, bson.D{e("commitTransaction", 1), e("txnNumber", int64(1)), e("autocommit", false)}},
		{10107, bson.D{e("find", "c"), nearest, e("autocommit", false), e("startTransaction", true)}},
		{13435, bson.D{e("find", "c")}},
		{13435, bson.D{e("aggregate", "c"), primary}},
		{0, bson.D{e("find", "c"), nearest}},
		{0, bson.D{e("getMore", int64(1))}},
		{0, bson.D{e("ping", 1)}},
		{0, bson.D{e("endSessions", bson.A{})}},
	} {
		reply := expectRefusal(t, c, 1, test.code, test.command...)
		if test.code > 10000 {
			assert.Contains(t, reply, "topologyVersion", "%v", test.command)
		}
		if test.command[0].Key == "commitTransaction" {
			assert.Equal(t, bson.A{"RetryableWriteError"}, reply["errorLabels"])
		}
		expectRefusal(t, c, 0, 0, test.command...)
	}
}

func TestRouter(t *testing.T) {
	c := newCluster(t, Sharded, 2)
	token := bson.D{e("recoveryShardId", "lab-shard")}
	transaction := []bson.E{e("txnNumber", int64(1)), e("autocommit", false)}
	b := &backend{reply: document(t, bson.D{e("ok", 1)})}

	assert.Equal(t, token, b.send(t, c, 0, append([]bson.E{e("insert", "c")}, transaction...)...)["recoveryToken"])
	assert.NotContains(t, b.send(t, c, 0, e("insert", "c"), e("txnNumber", int64(1))), "recoveryToken", "no transaction")

	commit := append([]bson.E{e("commitTransaction", 1), e("recoveryToken", token)}, transaction...)
	assert.Contains(t, b.send(t, c, 1, commit...), "recoveryToken")
	assert.False(t, bsondoc.Has(b.asked.Document(), "recoveryToken"), "the backend does not know it")

	b.reply = document(t, bson.D{e("ok", 0), e("code", 251)})
	assert.NotContains(t, b.send(t, c, 0, append([]bson.E{e("insert", "c")}, transaction...)...), "recoveryToken")
}

func TestConfigShards(t *testing.T) {
	b := &backend{reply: document(t, bson.D{e("ok", 1)})}
	c := newCluster(t, Sharded, 1)
	req := handlertest.Request(t, "config", `{"find": "shards"}`)
	_, reply, err := handlertest.Handle(t, c.Handler(0), req, bson.D{})
	assert.NoError(t, err)
	assert.Contains(t, reply, `"host":"lab-shard/h:0"`, "is a replica set's")
	b.send(t, c, 0, e("find", "shards"))
	assert.NotNil(t, b.asked, "of another database it is passed on")
}

func TestRepliesTellNothingOfTheBackendsDeployment(t *testing.T) {
	foreign := bson.D{e("processId", bson.NewObjectID()), e("counter", int64(1))}
	b := &backend{reply: document(t, bson.D{
		e("ok", 0), e("code", 91), e("topologyVersion", foreign), e("$clusterTime", bson.D{}), e("operationTime", bson.Timestamp{}),
	})}
	set := newCluster(t, ReplicaSet, 1)
	got := b.send(t, set, 0, e("ping", 1))
	assert.Contains(t, got, "$clusterTime")
	assert.Equal(t, set.members[0].process, fields(t, document(t, got["topologyVersion"]))["processId"])
}
