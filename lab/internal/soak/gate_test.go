package soak

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

// passGate passes a command through the gate to a member that answers. It tells whether the member got it, whether the client got
// the answer, and how long that took.
func passGate(t *testing.T, g *commitGate, command string) (got, answered bool, took time.Duration, err error) {
	t.Helper()
	raw, marshalErr := bson.Marshal(bson.D{{Key: command, Value: 1}, {Key: "$db", Value: "admin"}})
	require.NoError(t, marshalErr)
	req, requestErr := proxy.NewRequest(&proxy.Client{}, &wire.Message{Content: &wire.Msg{Body: raw}})
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
