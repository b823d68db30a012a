package topology

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// roles returns the members' roles, by their first letters.
func roles(c *Cluster) string {
	letters := map[Role]string{RolePrimary: "P", RoleSecondary: "S", RoleDown: "D", RoleNone: "-"}
	got := ""
	for _, role := range c.Roles() {
		got += letters[role]
	}
	return got
}

// later lets time pass, in the bubble of a synctest.
func later(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestStepDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, ReplicaSet, 3)
		assert.Equal(t, "PSS", roles(c))
		before := c.members[0].view().electionID()

		require.NoError(t, c.StepDown(10*time.Second))
		assert.Equal(t, "SSS", roles(c))
		assert.ErrorContains(t, c.StepDown(10*time.Second), "there is no primary")
		later(electionDelay - 1)
		assert.Equal(t, "SSS", roles(c))
		later(1)
		assert.Equal(t, "SPS", roles(c), "another member than before")
		after := c.members[0].view().electionID()
		assert.Positive(t, bytes.Compare(after[:], before[:]), "%v after %v", after, before)

		require.NoError(t, c.StepDown(10*time.Second))
		later(electionDelay)
		assert.Equal(t, "SSP", roles(c))
		require.NoError(t, c.StepDown(20*time.Second))
		later(electionDelay)
		assert.Equal(t, "SSS", roles(c), "all have stepped down")
		later(10 * time.Second)
		assert.Equal(t, "PSS", roles(c), "the first of which the time was over")
		assert.EqualValues(t, 4, c.members[0].view().term)
	})
}

func TestStepDownOfTheOnlyMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, ReplicaSet, 1)
		require.NoError(t, c.StepDown(10*time.Second))
		later(9 * time.Second)
		assert.Equal(t, "S", roles(c))
		later(time.Second)
		assert.Equal(t, "P", roles(c))
	})
}

func TestDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, ReplicaSet, 2)
		process := c.members[0].view().version.process
		c.Down(0)
		assert.Equal(t, "DS", roles(c))
		later(electionDelay)
		assert.Equal(t, "DP", roles(c))
		c.Down(1)
		later(time.Hour)
		assert.Equal(t, "DD", roles(c))
		c.Up(0)
		assert.Equal(t, "SD", roles(c))
		later(electionDelay)
		assert.Equal(t, "PD", roles(c))
		assert.NotEqual(t, process, c.members[0].view().version.process, "it was started anew")

		require.NoError(t, c.StepDown(time.Minute))
		c.Close()
		later(time.Hour)
		assert.Equal(t, "SD", roles(c), "nothing happens any more")
	})
}

func TestStepDownNeedsASet(t *testing.T) {
	for _, kind := range []Kind{Sharded, LoadBalanced} {
		assert.ErrorContains(t, newCluster(t, kind, 2).StepDown(time.Second), "only a replica set has a primary")
	}
}
