package mongo

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
)

// cursorCleanUps are of cursors, some of which the driver opens itself.
var cursorCleanUps = []cleanUp{
	{name: "ChangeStream.Next, resume", replies: []any{scripted.OK(firstBatch(7)), scripted.Failure(1, resumableErrorLabel)},
		run:      withStream(func(ctx context.Context, s *ChangeStream) error { s.Next(ctx); return s.Err() }),
		commands: []string{"aggregate", "getMore", "killCursors", "aggregate", "aggregate", "aggregate", "aggregate"}},
	{name: "ChangeStream.Next, no resume token", replies: []any{scripted.OK(firstBatch(7, bson.D{}))},
		run:      withStream(func(ctx context.Context, s *ChangeStream) error { s.Next(ctx); return s.Err() }),
		commands: []string{"aggregate", "killCursors"}},
	{name: "Cursor.All, decoding fails", replies: []any{scripted.OK(firstBatch(7, bson.D{{Key: "x", Value: "text"}}))},
		run:      withCursor(func(ctx context.Context, c *Cursor) error { return c.All(ctx, &[]struct{ X int }{}) }),
		commands: []string{"find", "killCursors"}},
	{name: "Cursor.All, getMore fails", replies: []any{scripted.OK(firstBatch(7, bson.D{}))},
		run:      withCursor(func(ctx context.Context, c *Cursor) error { return c.All(ctx, &[]bson.D{}) }),
		commands: []string{"find", "getMore", "getMore", "getMore", "getMore", "killCursors"}},
	{name: "Cursor.Close", replies: []any{scripted.OK(firstBatch(7))},
		run:      withCursor(func(ctx context.Context, c *Cursor) error { return c.Close(ctx) }),
		commands: []string{"find", "killCursors", "killCursors", "killCursors", "killCursors"}},
	{name: "ListCollectionNames", replies: []any{scripted.OK(firstBatch(7, bson.D{{Key: "name", Value: 1}}))},
		run: listCollectionNames, commands: []string{"listCollections", "killCursors"}},
	{name: "ListCollectionNames, getMore fails", replies: []any{scripted.OK(firstBatch(7, bson.D{{Key: "name", Value: "a"}}))},
		run: listCollectionNames, commands: []string{"listCollections", "getMore", "getMore", "getMore", "getMore", "killCursors"}},
	{name: "ChangeStream.Close", replies: []any{scripted.OK(firstBatch(7))},
		run:      withStream(func(ctx context.Context, s *ChangeStream) error { return s.Close(ctx) }),
		commands: []string{"aggregate", "killCursors", "killCursors", "killCursors", "killCursors"}},
}

// TestCursorCleanUpEndsWithTheDeadline: the deadline of the call that opened the cursor is the one of its end.
func TestCursorCleanUpEndsWithTheDeadline(t *testing.T) {
	cleanUpsEndWithTheDeadline(t, cursorCleanUps)
	cleanUpsSpendTokensForRetriesAlone(t, cursorCleanUps)
}
