package topology

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/bsondoc"
)

// backendHello is what a replica set of one answers.
func backendHello(t testing.TB) bson.Raw {
	return document(t, bson.D{
		{Key: "isWritablePrimary", Value: true}, {Key: "ismaster", Value: true}, {Key: "secondary", Value: false},
		{Key: "setName", Value: "backend"}, {Key: "setVersion", Value: 9}, {Key: "hosts", Value: bson.A{"real:1"}},
		{Key: "primary", Value: "real:1"}, {Key: "me", Value: "real:1"}, {Key: "electionId", Value: bson.NewObjectID()},
		{Key: "tags", Value: bson.D{{Key: "real", Value: "yes"}}}, {Key: "lastWrite", Value: bson.D{{Key: "x", Value: 1}}},
		{Key: "topologyVersion", Value: bson.D{{Key: "processId", Value: bson.NewObjectID()}}},
		{Key: "maxWireVersion", Value: 27}, {Key: "logicalSessionTimeoutMinutes", Value: 30},
		{Key: "saslSupportedMechs", Value: bson.A{"SCRAM-SHA-256"}}, {Key: "connectionId", Value: 7},
		{Key: "$clusterTime", Value: bson.D{}}, {Key: "ok", Value: 1.0},
	})
}

// place is what a hello says of the deployment; keys that are not here are passed on from the backend.
func place(hello bson.M) bson.M {
	for _, passed := range []string{
		"maxWireVersion", "logicalSessionTimeoutMinutes", "saslSupportedMechs", "connectionId", "ok",
	} {
		delete(hello, passed)
	}
	delete(hello, "topologyVersion")
	return hello
}

func TestHello(t *testing.T) {
	set := newCluster(t, ReplicaSet, 2)
	balancer := newCluster(t, LoadBalanced, 2)
	setPlace := func(me, dc string, more ...bson.E) bson.M {
		m := bson.M{
			"setName": "lab", "setVersion": int32(1), "hosts": bson.A{"h:0", "h:1"}, "primary": "h:0", "me": me,
			"tags": bson.D{{Key: "dc", Value: dc}}, "lastWrite": bson.D{{Key: "x", Value: int32(1)}}, "$clusterTime": bson.D{},
		}
		for _, element := range more {
			m[element.Key] = element.Value
		}
		return m
	}
	for name, test := range map[string]struct {
		cluster *Cluster
		front   int
		command bson.D
		want    bson.M
	}{
		"standalone": {newCluster(t, Standalone, 1), 0, bson.D{{Key: "hello", Value: 1}},
			bson.M{"isWritablePrimary": true, "$clusterTime": bson.D{}}},
		"legacy name": {
			newCluster(t, Standalone, 1), 0, bson.D{{Key: "isMaster", Value: 1}, {Key: "helloOk", Value: true}},
			bson.M{"ismaster": true, "helloOk": true, "$clusterTime": bson.D{}},
		},
		"primary": {set, 0, bson.D{{Key: "hello", Value: 1}}, setPlace("h:0", "dc1",
			bson.E{Key: "isWritablePrimary", Value: true}, bson.E{Key: "secondary", Value: false},
			bson.E{Key: "electionId", Value: electionID(1)})},
		"secondary": {set, 1, bson.D{{Key: "hello", Value: 1}}, setPlace("h:1", "dc2",
			bson.E{Key: "isWritablePrimary", Value: false}, bson.E{Key: "secondary", Value: true})},
		"router": {newCluster(t, Sharded, 2), 1, bson.D{{Key: "hello", Value: 1}}, bson.M{
			"isWritablePrimary": true, "msg": "isdbgrid", "$clusterTime": bson.D{},
		}},
		"balancer": {balancer, 0, bson.D{{Key: "hello", Value: 1}, {Key: "loadBalanced", Value: true}}, bson.M{
			"isWritablePrimary": true, "msg": "isdbgrid", "$clusterTime": bson.D{},
			"serviceId": balancer.members[0].service(1),
		}},
		"balancer, not asked": {balancer, 0, bson.D{{Key: "hello", Value: 1}}, bson.M{
			"isWritablePrimary": true, "msg": "isdbgrid", "$clusterTime": bson.D{},
		}},
		"no balancer, asked": {set, 1, bson.D{{Key: "hello", Value: 1}, {Key: "loadBalanced", Value: true}}, setPlace("h:1",
			"dc2", bson.E{Key: "isWritablePrimary", Value: false}, bson.E{Key: "secondary", Value: true})},
	} {
		t.Run(name, func(t *testing.T) {
			b := &backend{reply: backendHello(t)}
			reply := b.send(t, test.cluster, test.front, test.command...)
			assert.Equal(t, bson.A{"SCRAM-SHA-256"}, reply["saslSupportedMechs"], "is passed on")
			assert.EqualValues(t, 27, reply["maxWireVersion"])
			version := fields(t, document(t, reply["topologyVersion"]))
			assert.Equal(t, test.cluster.members[test.front].process, version["processId"])
			assert.Equal(t, test.want, place(reply))
			assert.False(t, bsondoc.Has(b.asked.Document(), "loadBalanced"), "concerns the backend not")
		})
	}
}

func TestFailedHelloIsPassedOn(t *testing.T) {
	failure := bson.D{{Key: "ok", Value: 0}, {Key: "code", Value: 91}, {Key: "errmsg", Value: "no"}}
	b := &backend{reply: document(t, failure)}
	assert.Equal(t, fields(t, b.reply), b.send(t, newCluster(t, ReplicaSet, 1), 0, bson.E{Key: "hello", Value: 1}))
}
