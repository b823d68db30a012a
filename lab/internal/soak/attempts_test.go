package soak

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

// send passes a command to the observer, and returns whether it went on.
func send(t *testing.T, a *Attempts, command, comment string) bool {
	t.Helper()
	doc := bson.D{{Key: command, Value: 1}, {Key: "$db", Value: "soak"}}
	if comment != "" {
		doc = append(doc, bson.E{Key: "comment", Value: comment})
	}
	raw, err := bson.Marshal(doc)
	require.NoError(t, err)
	req, err := proxy.NewRequest(&proxy.Client{}, &wire.Message{Content: &wire.Msg{Body: raw}})
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
		a, report := &Attempts{}, newReport()
		for range test.times {
			assert.True(t, send(t, a, test.command, test.comment), "it is passed on")
		}
		a.check(report)
		assert.Equal(t, test.want, counted(report), name)
	}
}

func TestAttemptsTellOperationsApart(t *testing.T) {
	a, report := &Attempts{}, newReport()
	for i := range 20 {
		send(t, a, "insert", fmt.Sprintf("worker %d", i))
	}
	for range maxCommands {
		send(t, a, "update", "worker 1")
	}
	a.check(report)
	assert.False(t, report.Failed())
	assert.Equal(t, []string{"21 operations took 26 commands, 1.238 each and at most 6"}, report.Notes)
}
