package driver_test

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
)

// TestDiscardedCursor is about a killCursors that nobody sees: it is never retried.
func TestDiscardedCursor(t *testing.T) {
	for _, runCommand := range []bool{false, true} {
		s := scripted.New(t, openedCursor, scripted.Overloaded())
		assert.Error(t, openCursor(t, s, runCommand).Discard(context.Background()))
		s.Finish()
	}
}
