package overload

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// client draws the client of an operation.
func (s Scenario) client(random *rand.Rand) int {
	if s.Large == 0 {
		return random.IntN(s.Clients)
	}
	if random.Float64() < s.Large {
		return 0
	}
	return 1 + random.IntN(s.Clients-1)
}

// openCursors is the number of cursors that each client opens before the load, and cursorLength that of their documents. A driver does not
// go on with one that failed.
const openCursors, cursorLength = 500, 50

// cursors are open cursors of one document a batch, by client. Nobody else uses one that is taken.
type cursors struct {
	mu   sync.Mutex
	idle map[*mongo.Client][]*mongo.Cursor
}

// open opens the cursors of a client, on a collection that it fills before.
func (c *cursors) open(ctx context.Context, client *mongo.Client) error {
	if c.idle == nil {
		c.idle = map[*mongo.Client][]*mongo.Cursor{}
	}
	collection := client.Database(database).Collection("documents")
	if len(c.idle) == 0 {
		if _, err := collection.InsertMany(ctx, slices.Repeat([]bson.D{{}}, cursorLength)); err != nil {
			return err
		}
	}
	for range openCursors {
		cursor, err := collection.Find(ctx, bson.D{}, options.Find().SetBatchSize(1))
		if err != nil {
			return err
		}
		cursor.Next(ctx)
		c.idle[client] = append(c.idle[client], cursor)
	}
	return nil
}

var errExhausted = errors.New("no cursor is left, or nothing of this one")

// next gets the next batch of a cursor, which is used again unless that failed.
func (c *cursors) next(ctx context.Context, of *mongo.Collection) error {
	client := of.Database().Client()
	c.mu.Lock()
	idle := c.idle[client]
	if len(idle) == 0 {
		c.mu.Unlock()
		return errExhausted
	}
	cursor := idle[0]
	c.idle[client] = idle[1:]
	c.mu.Unlock()

	if !cursor.Next(ctx) {
		return errors.Join(errExhausted, cursor.Err())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle[client] = append(c.idle[client], cursor)
	return nil
}

// inTransaction runs five commands in a transaction.
func inTransaction(ctx context.Context, collection *mongo.Collection, class string) error {
	return collection.Database().Client().UseSession(ctx, func(ctx context.Context) error {
		session := mongo.SessionFromContext(ctx)
		if err := session.StartTransaction(); err != nil {
			return err
		}
		for range 5 {
			if _, err := collection.InsertOne(ctx, bson.D{{Key: "class", Value: class}}); err != nil {
				return errors.Join(err, session.AbortTransaction(ctx))
			}
		}
		return session.CommitTransaction(ctx)
	})
}
