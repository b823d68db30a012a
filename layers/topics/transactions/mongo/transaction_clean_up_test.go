package mongo

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/scripted"
)

// TestTransactionCleanUpEndsWithTheDeadline is about the ends of transactions.
func TestTransactionCleanUpEndsWithTheDeadline(t *testing.T) {
	calls := []cleanUp{
		{name: "Session.AbortTransaction", replies: []any{scripted.OK()}, run: ending((*Session).AbortTransaction), succeeds: true,
			commands: []string{"insert", "abortTransaction", "abortTransaction", "abortTransaction", "abortTransaction"}},
		{name: "Session.EndSession", replies: []any{scripted.OK()}, run: ending(endSession), succeeds: true,
			commands: []string{"insert", "abortTransaction", "abortTransaction", "abortTransaction", "abortTransaction"}},
		{name: "Session.CommitTransaction", replies: []any{scripted.OK()}, run: ending((*Session).CommitTransaction),
			commands: []string{"insert", "commitTransaction", "commitTransaction", "commitTransaction", "commitTransaction"}},
		{name: "WithTransaction, commit", replies: []any{scripted.OK()}, run: insertWithTransaction,
			commands: []string{"insert", "commitTransaction", "commitTransaction", "commitTransaction", "commitTransaction"}},
		{name: "WithTransaction, abort", replies: []any{scripted.Failure(1)}, run: insertWithTransaction,
			commands: []string{"insert", "abortTransaction", "abortTransaction", "abortTransaction", "abortTransaction"}},
	}
	cleanUpsEndWithTheDeadline(t, calls)
	cleanUpsSpendTokensForRetriesAlone(t, calls)
}
