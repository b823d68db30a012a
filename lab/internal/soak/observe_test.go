package soak

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/handlertest"
	"mongofork/lab/internal/proxy"
)

// send passes a command to the observer, and returns whether it went on.
func send(t *testing.T, a *attempts, command, comment string) bool {
	t.Helper()
	passed, _, err := handlertest.Handle(t, a, handlertest.Request(t, "soak", `{"`+command+`": 1`+comment+`}`), bson.D{})
	require.NoError(t, err)
	return passed != nil
}

func comment(text string) string { return `, "comment": "` + text + `"` }

func TestAttempts(t *testing.T) {
	const tooMany, unseen = "operations of more than 6 commands", "operations that the server never saw"
	for name, test := range map[string]struct {
		command, comment string
		times            int
		want             map[string]int64
	}{
		"once":                    {"insert", comment("x"), 1, map[string]int64{}},
		"with all retries":        {"insert", comment("x"), maxCommands, map[string]int64{}},
		"once more":               {"insert", comment("x"), maxCommands + 1, map[string]int64{tooMany: 1}},
		"batches are no attempts": {"getMore", comment("x"), 20, map[string]int64{unseen: 1}},
		"no comment":              {"insert", "", 20, map[string]int64{unseen: 1}},
	} {
		a, report := &attempts{}, newReport()
		for range test.times {
			assert.True(t, send(t, a, test.command, test.comment), "it is passed on")
		}
		a.check(report)
		assert.Equal(t, test.want, counted(report), name)
	}
}

func TestAttemptsTellOperationsApart(t *testing.T) {
	a, report := &attempts{}, newReport()
	for i := range 20 {
		send(t, a, "insert", comment(fmt.Sprintf("worker %d", i)))
	}
	for range maxCommands {
		send(t, a, "update", comment("worker 1"))
	}
	a.check(report)
	assert.Empty(t, report.Violations)
	assert.Equal(t, maxCommands, report.Most)
}

// passGate passes a command through the gate to a member that answers. It tells whether the member got it, whether the client got
// the answer, and how long that took.
func passGate(t *testing.T, g *commitGate, command string) (got, answered bool, took time.Duration, err error) {
	t.Helper()
	start := time.Now()
	passed, reply, err := handlertest.Handle(t, g, handlertest.Request(t, "admin", `{"`+command+`": 1}`), bson.D{})
	return passed != nil, reply != "", time.Since(start), err
}

func TestCommitGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &commitGate{}
		got, answered, took, err := passGate(t, g, "commitTransaction")
		assert.True(t, got && answered && took == 0 && err == nil, "it is open")

		reached := 0
		for range 2 {
			g.close(time.Second)
			got, answered, took, err = passGate(t, g, "commitTransaction")
			assert.ErrorIs(t, err, proxy.ErrReset)
			assert.False(t, answered)
			assert.Equal(t, time.Second, took)
			if got {
				reached++
			}
		}
		assert.Equal(t, 1, reached, "one is held before the member, the other after it")
		assert.EqualValues(t, 2, g.held.Load())

		g.close(time.Second)
		got, answered, took, err = passGate(t, g, "insert")
		assert.True(t, got && answered && took == 0 && err == nil, "it is for commits only")
		time.Sleep(time.Second)
		got, answered, took, err = passGate(t, g, "commitTransaction")
		assert.True(t, got && answered && took == 0 && err == nil, "it is open again")
	})
}
