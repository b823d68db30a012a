package topology

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

func TestParseSpec(t *testing.T) {
	for text, want := range map[string]Spec{
		"standalone": {Standalone, 1}, "replicaset:1": {ReplicaSet, 1}, "sharded:50": {Sharded, 50}, "loadbalanced:3": {LoadBalanced, 3},
		"": {}, "mongos:2": {}, "replicaset": {}, "replicaset:x": {}, "replicaset:0": {}, "sharded:51": {}, "standalone:1": {},
	} {
		got, err := ParseSpec(text)
		assert.Equal(t, want, got, text)
		assert.Equal(t, want == Spec{}, err != nil, text)
	}
	assert.Equal(t, []string{"mongodb://a,b/?replicaSet=lab"}, Spec{ReplicaSet, 2}.URIs([]string{"a", "b"}))
}

func newCluster(kind Kind, members int) *Cluster {
	spec := Spec{kind, members}
	var hosts []string
	for i := range spec.Fronts() {
		hosts = append(hosts, fmt.Sprintf("h:%d", i))
	}
	return New(spec, hosts)
}

func raw(t *testing.T, text string) (doc bson.Raw) {
	t.Helper()
	require.NoError(t, bson.UnmarshalExtJSON([]byte(text), false, &doc))
	return doc
}

// send returns what a front makes of a command to a database and of the backend's reply, and whether it passed the command on, without what
// does not concern the backend.
func send(t *testing.T, c *Cluster, front int, database, command, backend string) (passed bool, reply bson.M) {
	t.Helper()
	body := bsondoc.With(raw(t, command), bson.E{Key: "$db", Value: database})
	req := proxy.NewRequest(&proxy.Client{ID: 1}, &wire.Message{Body: body})
	got, err := c.Handler(front)(t.Context(), req, func(_ context.Context, req *proxy.Request) (bson.Raw, error) {
		passed = true
		for _, field := range append(helloOptions, recoveryToken) {
			assert.False(t, bsondoc.Has(req.Document(), field), field)
		}
		return raw(t, backend), nil
	})
	require.NoError(t, err)
	require.NoError(t, bson.Unmarshal(got, &reply))
	return passed, reply
}

const ok = `{"ok": 1}`

func TestSecondaryRefuses(t *testing.T) {
	c := newCluster(ReplicaSet, 2)
	for command, code := range map[string]any{
		`{"insert": "c"}`: 10107,
		`{"insert": "c", "$readPreference": {"mode": "nearest"}}`:                    10107,
		`{"createIndexes": "c"}`:                                                     10107,
		`{"commitTransaction": 1, "txnNumber": 1, "autocommit": false}`:              10107,
		`{"find": "c", "$readPreference": {"mode": "nearest"}, "autocommit": false}`: 10107,
		`{"find": "c"}`: 13435,
		`{"aggregate": "c", "$readPreference": {"mode": "primary"}}`: 13435,
		`{"find": "c", "$readPreference": {"mode": "nearest"}}`:      nil,
		`{"getMore": 1}`:      nil,
		`{"ping": 1}`:         nil,
		`{"endSessions": []}`: nil,
	} {
		passed, reply := send(t, c, 1, "admin", command, ok)
		assert.EqualValues(t, code, reply["code"], command)
		assert.Equal(t, code == nil, passed, command)
		assert.Equal(t, code != nil, reply["topologyVersion"] != nil, command)
		passed, _ = send(t, c, 0, "admin", command, ok)
		assert.True(t, passed, "the primary runs %s", command)
	}
	_, reply := send(t, c, 1, "admin", `{"commitTransaction": 1, "txnNumber": 1, "autocommit": false}`, ok)
	assert.Equal(t, bson.A{"RetryableWriteError"}, reply["errorLabels"])
}

func TestRouter(t *testing.T) {
	c := newCluster(Sharded, 2)
	const insert = `{"insert": "c", "txnNumber": 1, "autocommit": false}`
	_, reply := send(t, c, 0, "db", insert, ok)
	assert.Equal(t, bson.D{{Key: "recoveryShardId", Value: "lab-shard"}}, reply["recoveryToken"])
	_, reply = send(t, c, 0, "db", insert, `{"ok": 0, "code": 251}`)
	assert.NotContains(t, reply, "recoveryToken", "a failure")
	_, reply = send(t, c, 0, "db", `{"insert": "c", "txnNumber": 1}`, ok)
	assert.NotContains(t, reply, "recoveryToken", "no transaction")
	_, reply = send(t, c, 1, "db", `{"commitTransaction": 1, "recoveryToken": {}, "txnNumber": 1, "autocommit": false}`, ok)
	assert.Contains(t, reply, "recoveryToken")

	_, reply = send(t, c, 0, "config", `{"find": "shards"}`, ok)
	assert.Contains(t, fmt.Sprint(reply["cursor"]), "lab-shard/h:0", "is a replica set's")
	passed, _ := send(t, c, 0, "db", `{"find": "shards"}`, ok)
	assert.True(t, passed, "of another database it is passed on")

	_, reply = send(t, c, 0, "db", `{"ping": 1}`, `{"ok": 0, "topologyVersion": {"processId": 1}, "$clusterTime": {}}`)
	assert.Contains(t, fmt.Sprint(reply["topologyVersion"]), c.members[0].process.Hex(), "not that of the backend's deployment")
	assert.Contains(t, reply, "$clusterTime")
}

// expectRoles compares the members' roles, by their first letters, some time later.
func expectRoles(t *testing.T, c *Cluster, want string, later time.Duration) {
	t.Helper()
	time.Sleep(later)
	synctest.Wait()
	got := ""
	for _, m := range c.members {
		switch {
		case m.down:
			got += "D"
		case m.view().primary == m:
			got += "P"
		default:
			got += "S"
		}
	}
	assert.Equal(t, want, got)
}

func TestElections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(ReplicaSet, 3)
		expectRoles(t, c, "PSS", 0)
		before := electionID(c.members[0].view().term)
		c.StepDown(10 * time.Second)
		expectRoles(t, c, "SSS", electionDelay-1)
		c.StepDown(time.Hour) // there is no primary
		expectRoles(t, c, "SPS", 1)
		after := electionID(c.members[0].view().term)
		assert.Positive(t, bytes.Compare(after[:], before[:]), "%v after %v", after, before)

		process := c.members[1].view().version.Process
		c.Down(1)
		expectRoles(t, c, "SDP", electionDelay)
		c.Down(0)
		c.StepDown(10 * time.Second)
		expectRoles(t, c, "DDS", 10*time.Second-1)
		expectRoles(t, c, "DDP", 1)
		c.Down(2)
		expectRoles(t, c, "DDD", time.Hour)
		c.Up(1)
		expectRoles(t, c, "DSD", 0)
		expectRoles(t, c, "DPD", electionDelay)
		assert.NotEqual(t, process, c.members[1].view().version.Process, "it was started anew")
	})
}
