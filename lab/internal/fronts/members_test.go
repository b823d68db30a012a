package fronts

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"mongofork/lab/internal/realset"
	"mongofork/lab/internal/topology"
)

// electionPatience is how long real members may take to agree, on a machine that is busy with other tests.
const electionPatience = 60 * time.Second

// startMembers runs a lab before three real members until the test ends.
func startMembers(t *testing.T) (*Lab, *realset.Set) {
	t.Helper()
	own, err := realset.Start(t.Context(), realMongod(t), t.TempDir(), 3)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, own.Stop()) })
	return startLab(t, "members:3", Config{Members: own}), own
}

// realMongod returns the path of a mongod: from the environment, installed by the rig, or on the PATH. Without one it skips the test.
func realMongod(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("MONGOD"); path != "" {
		return path
	}
	if found, _ := filepath.Glob("../../../build/server/mongod-*/mongod"); len(found) > 0 {
		path, err := filepath.Abs(found[0])
		require.NoError(t, err)
		return path
	}
	path, err := exec.LookPath("mongod")
	if err != nil {
		t.Skip("there is no mongod: name one with MONGOD; on Linux on x86-64, make server installs one")
	}
	return path
}

// awaitRole waits until exactly so many members have a role, and returns the first of them.
func awaitRole(t *testing.T, set *realset.Set, role topology.Role, count int) int {
	t.Helper()
	front := -1
	require.Eventually(t, func() bool {
		found := 0
		front = -1
		for i, is := range set.Roles() {
			if is == role {
				if found++; front < 0 {
					front = i
				}
			}
		}
		return found == count
	}, electionPatience, 50*time.Millisecond, "%d members with the role %q", count, role)
	return front
}

// The soak and the demo take real members through the rest.
func TestRealMembers(t *testing.T) {
	l, own := startMembers(t)
	client, j := connect(t, l.Endpoints()[0].URI, options.Client().SetHeartbeatInterval(500*time.Millisecond).
		SetServerSelectionTimeout(electionPatience))
	use(t, client)
	primary := awaitRole(t, own, topology.RolePrimary, 1)
	awaitRole(t, own, topology.RoleSecondary, 2)

	t.Run("clients know the fronts only", func(t *testing.T) {
		assert.Eventually(t, func() bool {
			kinds := j.kinds()
			known := 0
			for i, host := range l.Hosts() {
				if kinds[host] == "RSPrimary" && i == primary || kinds[host] == "RSSecondary" && i != primary {
					known++
				}
			}
			return known == 3 && len(kinds) == 3
		}, electionPatience, 10*time.Millisecond, "%v", j.kinds())
	})

	t.Run("a primary that is cut off from the majority", func(t *testing.T) {
		old := awaitRole(t, own, topology.RolePrimary, 1)
		require.NoError(t, own.Disturb(t.Context(), realset.Partition, old, 0))
		require.Eventually(t, func() bool {
			role := own.Roles()[old]
			return role != topology.RolePrimary && role != topology.RoleDown
		}, electionPatience, 50*time.Millisecond, "it steps down, and clients reach it")
		assert.NotEqual(t, old, awaitRole(t, own, topology.RolePrimary, 1))
		// The majority may take minutes: the secondary that is left may still be reading from the member that is cut off.
		alone := client.Database("db", options.Database().SetWriteConcern(writeconcern.W1())).Collection("c")
		_, err := alone.InsertOne(t.Context(), bson.D{})
		require.NoError(t, err)
		require.NoError(t, own.Disturb(t.Context(), realset.Heal, old, 0))
		awaitRole(t, own, topology.RoleSecondary, 2)
	})
}
