package mongo

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/scripted"
)

// TestDisconnectEndsWithTheDeadline is about the end of sessions.
func TestDisconnectEndsWithTheDeadline(t *testing.T) {
	calls := []cleanUp{
		{name: "Client.Disconnect", replies: []any{scripted.OK()}, run: disconnect, succeeds: true,
			commands: []string{"ping", "endSessions", "endSessions", "endSessions", "endSessions"}},
	}
	cleanUpsEndWithTheDeadline(t, calls)
	cleanUpsSpendTokensForRetriesAlone(t, calls)
}
