package topology

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/driverutil"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// FuzzServerDescription reads bytes as the reply to a hello, and lets a topology learn of the server.
func FuzzServerDescription(f *testing.F) {
	for _, reply := range seedHellos(f) {
		f.Add([]byte(reply))
	}
	f.Fuzz(func(_ *testing.T, data []byte) {
		desc := driverutil.NewServerDescription(address.Address("a:1"), data)
		_ = desc.String()
		_ = driverutil.EqualServers(desc, desc)
		_, _ = driverutil.NewTopologyVersion(data)
		for _, kind := range []description.TopologyKind{
			description.TopologyKindSingle, description.TopologyKindReplicaSetNoPrimary,
			description.TopologyKindReplicaSet, description.TopologyKindSharded,
		} {
			machine := newFSM()
			machine.Kind = kind
			machine.Servers = []description.Server{{Addr: desc.Addr}, {Addr: "b:2"}}
			machine.apply(desc)
		}
	})
}

// seedHellos returns replies to hello with all fields that the driver reads.
func seedHellos(f *testing.F) []bson.Raw {
	f.Helper()
	var hellos []bson.Raw
	for _, doc := range []bson.D{
		{
			{Key: "isWritablePrimary", Value: true}, {Key: "setName", Value: "s"}, {Key: "setVersion", Value: int32(1)},
			{Key: "hosts", Value: bson.A{"a:1", "b:2"}}, {Key: "passives", Value: bson.A{"c:3"}},
			{Key: "arbiters", Value: bson.A{"d:4"}}, {Key: "me", Value: "a:1"}, {Key: "primary", Value: "a:1"},
			{Key: "electionId", Value: bson.ObjectID{1}}, {Key: "tags", Value: bson.D{{Key: "dc", Value: "x"}}},
			{Key: "lastWrite", Value: bson.D{{Key: "lastWriteDate", Value: bson.DateTime(1)}}},
			{Key: "topologyVersion", Value: bson.D{
				{Key: "processId", Value: bson.ObjectID{2}}, {Key: "counter", Value: int64(1)},
			}},
			{Key: "compression", Value: bson.A{"zstd"}}, {Key: "connectionId", Value: int32(1)},
			{Key: "maxBsonObjectSize", Value: int32(1 << 24)}, {Key: "maxMessageSizeBytes", Value: int32(48_000_000)},
			{Key: "maxWriteBatchSize", Value: int32(100_000)}, {Key: "logicalSessionTimeoutMinutes", Value: int32(30)},
			{Key: "minWireVersion", Value: int32(0)}, {Key: "maxWireVersion", Value: int32(25)},
			{Key: "readOnly", Value: false}, {Key: "helloOk", Value: true}, {Key: "ok", Value: int32(1)},
		},
		{
			{Key: "msg", Value: "isdbgrid"}, {Key: "maxWireVersion", Value: int32(25)},
			{Key: "serviceId", Value: bson.ObjectID{3}}, {Key: "ok", Value: 1.0},
		},
		{
			{Key: "secondary", Value: true}, {Key: "hidden", Value: true}, {Key: "arbiterOnly", Value: false},
			{Key: "setName", Value: "s"}, {Key: "iscryptd", Value: true}, {Key: "isreplicaset", Value: true},
			{Key: "speculativeAuthenticate", Value: bson.D{{Key: "conversationId", Value: int32(1)}}},
			{Key: "saslSupportedMechs", Value: bson.A{"SCRAM-SHA-256"}}, {Key: "ok", Value: int32(1)},
		},
	} {
		raw, err := bson.Marshal(doc)
		require.NoError(f, err)
		hellos = append(hellos, raw)
	}
	return hellos
}
