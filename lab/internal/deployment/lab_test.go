package deployment

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/fault"
	"mongofork/lab/internal/metrics"
	"mongofork/lab/internal/overload"
	"mongofork/lab/internal/topology"
)

func collection(c *mongo.Client) *mongo.Collection { return c.Database("db").Collection("c") }

// use writes and reads.
func use(t testing.TB, c *mongo.Client) {
	t.Helper()
	_, err := collection(c).InsertOne(t.Context(), bson.D{{Key: "x", Value: 1}})
	require.NoError(t, err)
	require.NoError(t, collection(c).FindOne(t.Context(), bson.D{}).Err())
}

func TestClientsSeeTheTopology(t *testing.T) {
	for text, want := range map[string][]string{
		"standalone":   {"Standalone"},
		"replicaset:3": {"RSPrimary", "RSSecondary", "RSSecondary"},
		"sharded:2":    {"Mongos", "Mongos"},
	} {
		t.Run(text, func(t *testing.T) {
			l := startLab(t, text, Config{})
			client, j := connect(t, l.Endpoints()[0].URI)
			use(t, client)
			expected := map[string]string{}
			for i, host := range l.Hosts() {
				expected[host] = want[i]
			}
			assert.Eventually(t, func() bool { return assert.ObjectsAreEqual(expected, j.kinds()) }, patience, time.Millisecond,
				"want %v", expected)
		})
	}
}

func TestLoadBalancerTellsTheService(t *testing.T) {
	l := startLab(t, "loadbalanced:2", Config{})
	for i, services := range []int{1, 2} {
		client, j := connect(t, l.Endpoints()[i].URI)
		seen := map[bson.ObjectID]bool{}
		sessions := make([]*mongo.Session, 2) // each pins a connection
		for k := range sessions {
			s, err := client.StartSession()
			require.NoError(t, err)
			defer s.EndSession(context.Background())
			require.NoError(t, s.StartTransaction())
			_, err = collection(client).InsertOne(mongo.NewSessionContext(t.Context(), s), bson.D{})
			require.NoError(t, err)
			sessions[k] = s
		}
		for _, e := range j.named("insert") {
			require.NotNil(t, e.ServiceID)
			seen[*e.ServiceID] = true
		}
		assert.Len(t, seen, services, "behind endpoint %s", l.Endpoints()[i].Name)
	}
}

func TestTransactionOnRouters(t *testing.T) {
	l := startLab(t, "sharded:2", Config{})
	client, j := connect(t, l.Endpoints()[0].URI)
	for range 5 {
		s, err := client.StartSession()
		require.NoError(t, err)
		_, err = s.WithTransaction(t.Context(), func(ctx context.Context) (any, error) {
			for range 3 {
				if _, err := collection(client).InsertOne(ctx, bson.D{}); err != nil {
					return nil, err
				}
			}
			return nil, nil
		})
		require.NoError(t, err)
		s.EndSession(t.Context())
	}
	inserts, commits := j.named("insert"), j.named("commitTransaction")
	require.Len(t, inserts, 15)
	require.Len(t, commits, 5)
	for i, commit := range commits {
		assert.Equal(t, "lab-shard", commit.Command.Lookup("recoveryToken", "recoveryShardId").StringValue())
		for _, insert := range inserts[3*i : 3*i+3] {
			assert.Equal(t, address(commit.ConnectionID), address(insert.ConnectionID), "a transaction stays at its router")
		}
	}
}

// address returns the server of a connection, which begins its identifier.
func address(connectionID string) string {
	for i := range connectionID {
		if connectionID[i] == '[' {
			return connectionID[:i]
		}
	}
	return connectionID
}

func TestStepDownIsSeenAtOnce(t *testing.T) {
	l := startLab(t, "replicaset:3", Config{Options: topology.Options{ElectionDelay: 50 * time.Millisecond}})
	// With so much time between heartbeats only a stream of hellos can tell before the patience is over.
	// In about one of a hundred runs the test's end takes as long as that, too: Disconnect's signal to a monitor is lost
	// between two of its checks, in the driver as upstream has it, and the monitor's next hello goes on to its end.
	client, j := connect(t, l.Endpoints()[0].URI, options.Client().SetHeartbeatInterval(2*patience))
	use(t, client)
	second := l.Hosts()[1]
	require.Eventually(t, func() bool { return j.kinds()[second] == "RSSecondary" }, patience, time.Millisecond)
	// The streams begin with the second hello of each monitor.
	require.NoError(t, l.Cluster().StepDown(time.Minute))
	assert.Eventually(t, func() bool { return j.kinds()[second] == "RSPrimary" }, patience, time.Millisecond)
	use(t, client)
	inserts := j.named("insert")
	assert.Equal(t, second, address(inserts[len(inserts)-1].ConnectionID))
}

func TestFailPointsAndParametersBelongToAFront(t *testing.T) {
	l := startLab(t, "sharded:2", Config{})
	hosts := l.Hosts()
	first, _ := connect(t, "mongodb://"+hosts[0])
	second, _ := connect(t, "mongodb://"+hosts[1])
	require.NoError(t, first.Database("admin").RunCommand(t.Context(), bson.D{
		{Key: "configureFailPoint", Value: "failCommand"}, {Key: "mode", Value: bson.D{{Key: "times", Value: 1}}},
		{Key: "data", Value: bson.D{
			{Key: "failCommands", Value: bson.A{"insert"}}, {Key: "errorCode", Value: 89},
			{Key: "errorLabels", Value: bson.A{"RetryableWriteError"}},
		}},
	}).Err())
	use(t, second)
	use(t, first)
	first0 := counts(l, 0, "insert")
	assert.Equal(t, []int64{1, 1}, first0.Attempts, "an attempt that failed and its retry")
	assert.Equal(t, [3]int64{2, 1, 1}, [3]int64{first0.Received, first0.Admitted, first0.Errors})
	assert.Equal(t, []int64{1}, counts(l, 1, "insert").Attempts)
}

func TestOverload(t *testing.T) {
	for rejection, want := range map[overload.Rejection]struct {
		code   int32
		labels []string
		not    []string
	}{
		"":                            {462, []string{"SystemOverloadedError", "RetryableError", "NoWritesPerformed"}, nil},
		overload.RequestRateBefore826: {462, []string{"SystemOverloadedError", "RetryableError"}, []string{"NoWritesPerformed"}},
		overload.OperationRate:        {463, []string{"SystemOverloadedError", "RetryableError", "NoWritesPerformed"}, nil},
		overload.Interrupted:          {473, []string{"SystemOverloadedError"}, []string{"RetryableError"}},
	} {
		t.Run(string(rejection), func(t *testing.T) { testOverload(t, rejection, want.code, want.labels, want.not) })
	}
}

func testOverload(t *testing.T, rejection overload.Rejection, code int32, labels, not []string) {
	l := startLab(t, "standalone", Config{Rejection: rejection})
	client, _ := connect(t, l.Endpoints()[0].URI, options.Client().SetRetryReads(false))
	set := func(name string, value any) {
		require.NoError(t, client.Database("admin").RunCommand(t.Context(),
			bson.D{{Key: "setParameter", Value: 1}, {Key: name, Value: value}}).Err())
	}
	set("ingressRequestAdmissionRatePerSec", 1)
	set("ingressRequestAdmissionBurstCapacitySecs", 1.0)
	set("ingressRequestRateLimiterEnabled", true)
	for range 5 {
		err := collection(client).FindOne(t.Context(), bson.D{}).Err()
		if err != nil {
			var failure mongo.CommandError
			require.ErrorAs(t, err, &failure)
			assert.Equal(t, code, failure.Code)
			for _, label := range labels {
				assert.True(t, failure.HasErrorLabel(label), label)
			}
			for _, label := range not {
				assert.False(t, failure.HasErrorLabel(label), label)
			}
		}
	}
	finds := counts(l, 0, "find")
	assert.EqualValues(t, 5, finds.Received)
	assert.Positive(t, finds.Rejected)
	assert.Equal(t, finds.Received, finds.Admitted+finds.Rejected)
}

func counts(l *Lab, front int, command string) metrics.Counts {
	for _, c := range l.Metrics().Counts() {
		if c.Front == front && c.Command == command {
			return c
		}
	}
	return metrics.Counts{}
}

func TestOpenRefuses(t *testing.T) {
	_, err := Open(Config{Topology: topology.Spec{Kind: topology.Standalone, Members: 1}})
	assert.ErrorContains(t, err, "needs a backend")
	l := startLab(t, "standalone", Config{})
	_, port, _ := splitPort(l.Hosts()[0])
	_, err = Open(Config{Topology: topology.Spec{Kind: topology.Standalone, Members: 1}, Port: port})
	assert.ErrorContains(t, err, "choose another port")
}

func TestAdminister(t *testing.T) {
	l := startLab(t, "standalone", Config{})
	client, _ := connect(t, l.Endpoints()[0].URI+"?retryReads=false")
	use(t, client)
	require.NoError(t, l.SetFault(0, fault.Fault{Kind: fault.Silent}, 0), "which holds nobody up who asks the front itself")
	require.NoError(t, l.Administer(t.Context(), 0, bson.D{
		{Key: "configureFailPoint", Value: "failCommand"}, {Key: "mode", Value: "alwaysOn"},
		{Key: "data", Value: bson.D{{Key: "failCommands", Value: bson.A{"find"}}, {Key: "errorCode", Value: 462}}},
	}))
	require.NoError(t, l.SetFault(0, fault.Fault{Kind: fault.Off}, 0))
	var failed mongo.CommandError
	require.ErrorAs(t, collection(client).FindOne(t.Context(), bson.D{}).Err(), &failed)
	assert.EqualValues(t, 462, failed.Code)

	require.NoError(t, l.Administer(t.Context(), 0, bson.D{{Key: "setParameter", Value: 1}, {Key: "ingressRequestRateLimiterEnabled", Value: true}}))
	assert.ErrorContains(t, l.Administer(t.Context(), 0, bson.D{{Key: "setParameter", Value: 1}, {Key: "ingressRequestAdmissionRatePerSec", Value: 0}}),
		"setParameter", "it says why it is refused")
	assert.ErrorContains(t, l.Administer(t.Context(), 0, bson.D{{Key: "ping", Value: 1}}), "the server's to answer")
}
