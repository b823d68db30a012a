package topology

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// roles returns the members' roles, by their first letters.
func roles(c *Cluster) string {
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
		before := electionID(c.members[0].view().term)

		c.StepDown(10 * time.Second)
		assert.Equal(t, "SSS", roles(c))
		c.StepDown(time.Hour) // there is no primary
		later(electionDelay - 1)
		assert.Equal(t, "SSS", roles(c))
		later(1)
		assert.Equal(t, "SPS", roles(c), "another member than before")
		after := electionID(c.members[0].view().term)
		assert.Positive(t, bytes.Compare(after[:], before[:]), "%v after %v", after, before)

		c.StepDown(10 * time.Second)
		later(electionDelay)
		assert.Equal(t, "SSP", roles(c))
		c.StepDown(20 * time.Second)
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
		c.StepDown(10 * time.Second)
		later(9 * time.Second)
		assert.Equal(t, "S", roles(c))
		later(time.Second)
		assert.Equal(t, "P", roles(c))
	})
}

func TestDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, ReplicaSet, 2)
		process := c.members[0].view().version.Process
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
		assert.NotEqual(t, process, c.members[0].view().version.Process, "it was started anew")
	})
}
