package soak

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
)

// sessionLength is the number of operations in a causally consistent session.
const sessionLength = 50

// causal writes to the primary and reads from secondaries in causally consistent sessions.
type causal struct {
	worker
	session    *mongo.Session
	operations int
	// written is the last number acknowledged in the session, read the last number that it read.
	written, read int64
}

// step writes the next number and reads it at a secondary: the session must see what it wrote and read before.
func (c *causal) step(ctx context.Context) error {
	if c.session == nil || c.operations >= sessionLength {
		if err := c.begin(ctx); err != nil {
			return err
		}
	}
	c.operations++
	ctx = mongo.NewSessionContext(ctx, c.session)
	n := c.stream.next()
	// A late attempt must not undo later writes.
	_, err := c.collection("causal").UpdateByID(ctx, c.name, bson.D{{Key: "$max", Value: bson.D{{Key: "value", Value: n}}}},
		options.UpdateOne().SetUpsert(true).SetComment(c.comment()))
	if err == nil {
		c.written = n
	}
	if readErr := c.lookUp(ctx); err == nil {
		err = readErr
	}
	return err
}

func (c *causal) begin(ctx context.Context) error {
	c.end(ctx)
	session, err := c.client.StartSession(options.Session().SetCausalConsistency(true))
	if err != nil {
		return err
	}
	c.session, c.operations, c.written, c.read = session, 0, 0, 0
	return nil
}

func (c *causal) end(ctx context.Context) {
	if c.session != nil {
		c.session.EndSession(ctx)
	}
}

func (c *causal) lookUp(ctx context.Context) error {
	secondary := c.client.Database(c.database).Collection("causal", options.Collection().
		SetReadPreference(readpref.Secondary()).SetReadConcern(readconcern.Majority()))
	var found total
	err := secondary.FindOne(ctx, bson.D{{Key: "_id", Value: c.name}}, options.FindOne().SetComment(c.comment())).Decode(&found)
	if err == mongo.ErrNoDocuments {
		err = nil // there is nothing yet, which is wrong only where something was written
	}
	if err != nil {
		return err
	}
	c.judge(found.Value)
	return nil
}

// judge compares what was read with what the session wrote and read before.
func (c *causal) judge(value int64) {
	if value < c.written {
		c.report.violation("sessions that do not read their writes", "%s wrote %d and read %d", c.name, c.written, value)
	}
	if value < c.read {
		c.report.violation("sessions whose reads go back", "%s read %d and then %d", c.name, c.read, value)
	}
	c.read = value
}
