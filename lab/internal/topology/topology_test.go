package topology

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/handlertest"
	"mongofork/lab/internal/proxy"
)

func TestParseSpec(t *testing.T) {
	for text, want := range map[string]Spec{"standalone": {Standalone, 1}, "replicaset:1": {ReplicaSet, 1}, "sharded:50": {Sharded, 50},
		"loadbalanced:3": {LoadBalanced, 3}, "": {}, "mongos:2": {}, "replicaset": {}, "replicaset:x": {}, "replicaset:0": {},
		"sharded:51": {}, "standalone:1": {}} {
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

// send returns what a front makes of a command to a database, in Extended JSON, and of the backend's reply. What was passed on is nil if the
// front refused the command.
func send(t *testing.T, c *Cluster, front int, database, command, backend string) (passed *proxy.Request, reply bson.M) {
	t.Helper()
	req, answer := handlertest.Request(t, database, command), handlertest.Request(t, "", backend)
	req.Client.ID = 1
	passed, got, err := handlertest.Handle(t, c.Handler(front), req, bsondoc.Rebuild(answer.Document(), []string{"$db"}, nil))
	require.NoError(t, err)
	require.NoError(t, bson.UnmarshalExtJSON([]byte(got), false, &reply))
	return passed, reply
}

// A hello tells of the deployment what the front stands for, and all else as the backend does.
func TestHello(t *testing.T) {
	const backend = `{"isWritablePrimary": true, "ismaster": true, "secondary": false, "setName": "backend", "setVersion": 9,
		"hosts": ["real:1"], "primary": "real:1", "me": "real:1", "electionId": {"$oid": "123456789012345678901234"}, "tags": {"a": "b"},
		"topologyVersion": {"processId": 1}, "maxWireVersion": 27, "ok": 1}`
	member := func(me string, more bson.M) bson.M {
		set := bson.M{"setName": "lab", "setVersion": int32(1), "hosts": bson.A{"h:0", "h:1"}, "primary": "h:0", "me": me}
		for key, value := range more {
			set[key] = value
		}
		return set
	}
	set, balancer := newCluster(ReplicaSet, 2), newCluster(LoadBalanced, 2)
	secondary := member("h:1", bson.M{"isWritablePrimary": false, "secondary": true})
	for name, test := range map[string]struct {
		cluster *Cluster
		front   int
		command string
		want    bson.M
	}{
		"standalone": {newCluster(Standalone, 1), 0, `{"hello": 1}`, bson.M{"isWritablePrimary": true}},
		"legacy name": {newCluster(Standalone, 1), 0, `{"isMaster": 1, "helloOk": true}`,
			bson.M{"ismaster": true, "helloOk": true}},
		"primary": {set, 0, `{"hello": 1}`,
			member("h:0", bson.M{"isWritablePrimary": true, "secondary": false, "electionId": electionID(1)})},
		"secondary": {set, 1, `{"hello": 1}`, secondary},
		"router":    {newCluster(Sharded, 2), 1, `{"hello": 1}`, bson.M{"isWritablePrimary": true, "msg": "isdbgrid"}},
		"balancer": {balancer, 0, `{"hello": 1, "loadBalanced": true}`,
			bson.M{"isWritablePrimary": true, "msg": "isdbgrid", "serviceId": balancer.members[0].service(1)}},
		"balancer, not asked": {balancer, 0, `{"hello": 1}`, bson.M{"isWritablePrimary": true, "msg": "isdbgrid"}},
		"no balancer, asked":  {set, 1, `{"hello": 1, "loadBalanced": true}`, secondary},
	} {
		passed, reply := send(t, test.cluster, test.front, "admin", test.command, backend)
		test.want["topologyVersion"] = bson.D{{Key: "processId", Value: test.cluster.members[test.front].process}, {Key: "counter", Value: int32(0)}}
		test.want["maxWireVersion"], test.want["ok"] = int32(27), int32(1)
		assert.Equal(t, test.want, reply, name)
		assert.False(t, bsondoc.Has(passed.Document(), "loadBalanced"), "concerns the backend not")
	}
	assert.NotEqual(t, balancer.members[1].service(1), balancer.members[1].service(2), "the second balancer spreads connections")
	assert.Equal(t, balancer.members[0].service(1), balancer.members[0].service(2))
	const failure = `{"ok": 0, "code": 91}`
	_, reply := send(t, set, 0, "admin", `{"hello": 1}`, failure)
	assert.Equal(t, bson.M{"ok": int32(0), "code": int32(91)}, reply, "is passed on")
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
		assert.Equal(t, code == nil, passed != nil, command)
		assert.Equal(t, code != nil, reply["topologyVersion"] != nil, command)
		passed, _ = send(t, c, 0, "admin", command, ok)
		assert.NotNil(t, passed, "the primary runs %s", command)
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
	passed, reply := send(t, c, 1, "db", `{"commitTransaction": 1, "recoveryToken": {}, "txnNumber": 1, "autocommit": false}`, ok)
	assert.Contains(t, reply, "recoveryToken")
	assert.False(t, bsondoc.Has(passed.Document(), "recoveryToken"), "the backend does not know it")

	_, reply = send(t, c, 0, "config", `{"find": "shards"}`, ok)
	assert.Contains(t, fmt.Sprint(reply["cursor"]), "lab-shard/h:0", "is a replica set's")
	passed, _ = send(t, c, 0, "db", `{"find": "shards"}`, ok)
	assert.NotNil(t, passed, "of another database it is passed on")

	_, reply = send(t, c, 0, "db", `{"ping": 1}`, `{"ok": 0, "topologyVersion": {"processId": 1}, "$clusterTime": {}}`)
	assert.Contains(t, fmt.Sprint(reply["topologyVersion"]), c.members[0].process.Hex(), "not that of the backend's deployment")
	assert.Contains(t, reply, "$clusterTime")
}

// A hello that knows a state is answered when there is news.
func TestAwait(t *testing.T) {
	const heartbeat = 10 * time.Second
	for name, test := range map[string]struct {
		known func(*topologyVersion) // of the present one
		want  time.Duration          // until the reply; there is a step-down after 3 s
	}{
		"same":           {func(*topologyVersion) {}, 3 * time.Second},
		"older":          {func(v *topologyVersion) { v.Counter-- }, 0},
		"newer":          {func(v *topologyVersion) { v.Counter++ }, 3*time.Second + electionDelay}, // the election
		"another server": {func(v *topologyVersion) { v.Process = bson.NewObjectID() }, 0},
		"much newer":     {func(v *topologyVersion) { v.Counter += 9 }, heartbeat},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(ReplicaSet, 2)
			c.Up(0) // so that there is an older version
			known := c.members[1].view().version
			test.known(&known)
			time.AfterFunc(3*time.Second, func() { c.StepDown(time.Minute) })
			start := time.Now()
			passed, _ := send(t, c, 1, "admin", bsondoc.Marshal(bsondoc.D("hello", 1, "topologyVersion", known,
				"maxAwaitTimeMS", heartbeat.Milliseconds())).String(), ok)
			assert.Equal(t, test.want, time.Since(start), name)
			assert.False(t, bsondoc.Has(passed.Document(), "topologyVersion") || bsondoc.Has(passed.Document(), "maxAwaitTimeMS"))
			time.Sleep(time.Minute) // the step-down is over in any case
		})
	}
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
