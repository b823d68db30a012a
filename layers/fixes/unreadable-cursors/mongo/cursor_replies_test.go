package mongo

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// ofCursor returns a reply with a batch of a cursor of which a field has another value, or none.
func ofCursor(batch, field string, value any) bson.D {
	whole := bson.D{{Key: "id", Value: int64(7)}, {Key: "ns", Value: "db.coll"}, {Key: batch, Value: bson.A{}}}
	return scripted.OK(bson.E{Key: "cursor", Value: with(whole, field, value)})
}

// malformedReplies returns replies whose cursor is not one, by what is wrong. A batch is firstBatch or nextBatch.
func malformedReplies(batch string) map[string]bson.D {
	replies := map[string]bson.D{"cursor absent": scripted.OK()}
	for _, value := range []any{absent, nil, "text", 1.5, bson.D{}, bson.A{}, int32(0)} {
		says := fmt.Sprintf(" %T %v", value, value)
		if value == absent {
			says = " absent"
		} else {
			replies["cursor"+says] = scripted.OK(bson.E{Key: "cursor", Value: value})
		}
		if _, ok := value.(bson.A); !ok {
			replies[batch+says] = ofCursor(batch, batch, value)
		}
		if _, ok := value.(int64); !ok {
			replies["id"+says] = ofCursor(batch, "id", value)
		}
		if batch == "firstBatch" {
			replies["ns"+says] = ofCursor(batch, "ns", value)
		}
	}
	return replies
}

// runSafely runs a call on a collection of a script. It must not panic.
func runSafely(t *testing.T, run func(context.Context, *Collection) error, s *scripted.Script) error {
	t.Helper()
	coll := scriptColl(t, s)
	defer func() {
		if panicked := recover(); panicked != nil {
			t.Errorf("%v: %v", s.Rest, panicked)
		}
	}()
	return run(bgCtx, coll)
}

// needsCursor are commands that cannot do without the cursor of a reply.
var needsCursor = regexp.MustCompile("^(aggregate|bulkWrite|find|getMore|listCollections|listIndexes)$")

// TestEveryMethodWithMalformedCursors lets each method get a reply whose cursor is malformed: those that need a cursor fail.
func TestEveryMethodWithMalformedCursors(t *testing.T) {
	for i, method := range everySendingMethod() {
		t.Run(fmt.Sprintf("%s/%d", method.name, i), func(t *testing.T) {
			for name, reply := range malformedReplies("firstBatch") {
				s := lasting(t, reply, method.replies...)
				err := runSafely(t, method.run, s)
				command := commandNames(s)[len(method.replies)]
				needs := needsCursor.MatchString(command) || method.name == "Database.RunCommandCursor"
				assert.True(t, err != nil || !needs, "%s: %s", name, command)
			}
		})
	}
}

var cursorUses = map[string]func(context.Context, *Collection) error{
	"All": using(func(ctx context.Context, c *Cursor) error { return c.All(ctx, &[]bson.Raw{}) }),
	"Next": using(func(ctx context.Context, c *Cursor) error {
		for c.Next(ctx) {
			if c.Current == nil {
				return nil // which is wrong
			}
		}
		return errors.Join(c.Err(), c.Close(ctx))
	}),
	"TryNext": using(func(ctx context.Context, c *Cursor) error {
		for i := 0; i < 3; i++ {
			if c.TryNext(ctx) && c.Current == nil {
				return nil // which is wrong
			}
		}
		return errors.Join(c.Err(), c.Close(ctx))
	}),
	"Watch": using(func(ctx context.Context, s *ChangeStream) error {
		s.Next(ctx)
		return errors.Join(s.Err(), s.Close(ctx))
	}),
}

// TestMalformedBatches is about batches after the first, and about what is in them.
func TestMalformedBatches(t *testing.T) {
	for name, use := range cursorUses {
		t.Run(name, func(t *testing.T) {
			for what, reply := range malformedReplies("nextBatch") {
				assert.Error(t, runSafely(t, use, lasting(t, reply, opened)), what)
			}
			for _, value := range otherTypes {
				switch value.(type) {
				case bson.D, bson.A: // which has the form of a document
					continue
				}
				for _, s := range []*scripted.Script{
					lasting(t, scripted.OK(), scripted.OK(firstBatch(7, value))), lasting(t, scripted.OK(nextBatch(7, value)), opened),
				} {
					assert.Error(t, runSafely(t, use, s), "%T %v", value, value)
				}
			}
		})
	}
}

// TestMalformedCursorGivesItsConnectionBack is about a cursor that would hold one.
func TestMalformedCursorGivesItsConnectionBack(t *testing.T) {
	s := scripted.New(t, ofCursor("firstBatch", "firstBatch", absent))
	s.Topology, s.Servers = description.TopologyKindLoadBalanced,
		[]description.Server{scripted.Server("a", description.ServerKindLoadBalancer)}
	require.ErrorContains(t, second(scriptColl(t, s).Find(bgCtx, anything)), "firstBatch")
	s.Finish()
}
