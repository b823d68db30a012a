package workload

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/bench/internal/canned"
)

// TestCommands checks what each workload sends, by the canned server that it is measured with.
func TestCommands(t *testing.T) {
	ctx := context.Background()
	server, err := canned.Start(ctx)
	require.NoError(t, err)
	defer server.Close()

	var sent []string
	monitor := &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		sent = append(sent, e.CommandName)
	}}
	client, err := mongo.Connect(options.Client().ApplyURI(server.URI()).SetMonitor(monitor))
	require.NoError(t, err)
	defer func() { assert.NoError(t, client.Disconnect(ctx)) }()

	cursorCommands := []string{"find"}
	for range canned.Batches - 1 {
		cursorCommands = append(cursorCommands, "getMore")
	}
	want := map[string][]string{
		"FindOne":              {"find"},
		"InsertOne":            {"insert"},
		"BulkWrite100":         {"insert"},
		"Cursor10Batches":      cursorCommands,
		"Transaction3Commands": {"find", "insert", "update", "commitTransaction"},
	}
	for _, w := range All() {
		sent = nil
		require.NoError(t, Run(ctx, w.Do, client.Database("bench").Collection(w.Collection), 1, 1), w.Name)
		assert.Equal(t, want[w.Name], sent, w.Name)
	}
	assert.Len(t, All(), len(want))
}

func TestRunSharesTheOperations(t *testing.T) {
	calls := make(chan struct{}, 100)
	do := func(context.Context, *mongo.Collection) error {
		calls <- struct{}{}
		return nil
	}
	require.NoError(t, Run(context.Background(), do, nil, 3, 10))
	assert.Len(t, calls, 10)
}

func TestRunReportsErrors(t *testing.T) {
	do := func(context.Context, *mongo.Collection) error { return assert.AnError }
	assert.ErrorIs(t, Run(context.Background(), do, nil, 2, 10), assert.AnError)
}

func TestFind(t *testing.T) {
	w, err := Find("InsertOne")
	require.NoError(t, err)
	assert.Equal(t, "InsertOne", w.Name)
	_, err = Find("Nothing")
	assert.ErrorContains(t, err, `no workload "Nothing"`)
}
