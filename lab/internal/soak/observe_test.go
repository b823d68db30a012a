package soak

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

// send passes a command to the observer, and returns whether it went on.
func send(t *testing.T, a *attempts, command, comment string) bool {
	t.Helper()
	doc := bson.D{{Key: command, Value: 1}, {Key: "$db", Value: "soak"}}
	if comment != "" {
		doc = append(doc, bson.E{Key: "comment", Value: comment})
	}
	raw, err := bson.Marshal(doc)
	require.NoError(t, err)
	req, err := proxy.NewRequest(&proxy.Client{}, &wire.Message{Body: raw})
	require.NoError(t, err)
	passed := false
	err = a.Handle(t.Context(), req, nil, func(context.Context, *proxy.Request, proxy.ReplyFunc) error {
		passed = true
		return nil
	})
	require.NoError(t, err)
	return passed
}

func TestAttempts(t *testing.T) {
	const tooMany, unseen = "operations of more than 6 commands", "operations that the server never saw"
	for name, test := range map[string]struct {
		command, comment string
		times            int
		want             map[string]int64
	}{
		"once":                    {"insert", "x", 1, map[string]int64{}},
		"with all retries":        {"insert", "x", maxCommands, map[string]int64{}},
		"once more":               {"insert", "x", maxCommands + 1, map[string]int64{tooMany: 1}},
		"batches are no attempts": {"getMore", "x", 20, map[string]int64{unseen: 1}},
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
		send(t, a, "insert", fmt.Sprintf("worker %d", i))
	}
	for range maxCommands {
		send(t, a, "update", "worker 1")
	}
	a.check(report)
	assert.Empty(t, report.Violations)
	assert.Equal(t, maxCommands, report.Most)
}

func commandNamed(t *testing.T, name string) bson.Raw {
	t.Helper()
	raw, err := bson.Marshal(bson.D{{Key: name, Value: 1}, {Key: "$db", Value: "admin"}})
	require.NoError(t, err)
	return raw
}

// passGate passes a command through the gate to a member that answers. It tells whether the member got it, whether the client got
// the answer, and how long that took.
func passGate(t *testing.T, g *commitGate, command string) (got, answered bool, took time.Duration, err error) {
	t.Helper()
	raw := commandNamed(t, command)
	req, requestErr := proxy.NewRequest(&proxy.Client{}, &wire.Message{Body: raw})
	require.NoError(t, requestErr)
	start := time.Now()
	reply := func(*wire.Message) error {
		answered = true
		return nil
	}
	err = g.Handle(t.Context(), req, reply, func(_ context.Context, req *proxy.Request, reply proxy.ReplyFunc) error {
		got = true
		return reply(req.Answer(raw))
	})
	return got, answered, time.Since(start), err
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
