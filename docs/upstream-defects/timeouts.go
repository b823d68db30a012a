package main

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// wholetimeout is calls by a client with a Timeout. A server answers their only command late, or each of several a little before the Timeout.
func wholetimeout() {
	const timeout, late, early = 200 * time.Millisecond, time.Second, 160 * time.Millisecond
	ctx := context.Background()
	for _, call := range []struct {
		name  string
		delay time.Duration
		run   func(*mongo.Collection) error
	}{
		{"Collection.BulkWrite", early, func(c *mongo.Collection) error {
			var models []mongo.WriteModel
			for range 3 {
				models = append(models, mongo.NewInsertOneModel().SetDocument(bson.D{}), mongo.NewDeleteOneModel().SetFilter(bson.D{}))
			}
			_, err := c.BulkWrite(ctx, models)
			return err
		}},
		{"CreateCollection", late, func(c *mongo.Collection) error { return c.Database().CreateCollection(ctx, "coll") }},
		{"CreateView", late, func(c *mongo.Collection) error {
			return c.Database().CreateView(ctx, "view", "coll", mongo.Pipeline{})
		}},
		{"Database.Drop", late, func(c *mongo.Collection) error { return c.Database().Drop(ctx) }},
		{"ListCollectionNames", early, func(c *mongo.Collection) error {
			_, err := c.Database().ListCollectionNames(ctx, bson.D{})
			return err
		}},
		{"ListCollectionSpecifications", early, func(c *mongo.Collection) error {
			_, err := c.Database().ListCollectionSpecifications(ctx, bson.D{})
			return err
		}},
		{"ListSpecifications", early, func(c *mongo.Collection) error {
			_, err := c.Indexes().ListSpecifications(ctx)
			return err
		}},
	} {
		s := start(func(n int64) bson.M {
			time.Sleep(call.delay)
			return batchOfSix(n)
		})
		begin := time.Now()
		err := call.run(s.coll(fmt.Sprint("timeoutMS=", timeout.Milliseconds())))
		fmt.Printf("%s, Timeout %v: took more than three times as long: %v, timeout: %v\n", call.name, timeout,
			time.Since(begin) > 3*timeout, mongo.IsTimeout(err))
	}
}

// batchOfSix is the reply to a write, and the n-th of six to a command that lists.
func batchOfSix(n int64) bson.M {
	id := int64(7)
	if n >= 6 {
		id = 0
	}
	batch := bson.A{bson.M{"name": "a", "type": "collection", "v": 2, "key": bson.M{"_id": 1}}}
	return bson.M{"ok": 1, "n": 1, "cursor": bson.M{"id": id, "ns": "db.coll", "firstBatch": batch, "nextBatch": batch}}
}

// bulkresults is a bulk write of a client whose results come in several batches, the second of which comes too late.
func bulkresults() {
	s := start(func(n int64) bson.M {
		if n > 1 {
			time.Sleep(time.Second)
		}
		result := bson.M{"ok": 1, "idx": 0, "n": 1}
		return bson.M{"ok": 1, "nInserted": 2, "nErrors": 0, "cursor": bson.M{"id": int64(7), "ns": "admin.$cmd.bulkWrite",
			"firstBatch": bson.A{result}}}
	})
	client := s.connect("timeoutMS=200")
	write := mongo.ClientBulkWrite{Database: "db", Collection: "coll", Model: mongo.NewClientInsertOneModel().SetDocument(bson.D{})}
	_, err := client.BulkWrite(context.Background(), []mongo.ClientBulkWrite{write, write}, options.ClientBulkWrite().SetVerboseResults(true))
	fmt.Printf("Client.BulkWrite, a getMore without a reply in time: IsTimeout %v\n", mongo.IsTimeout(err))
}

// maxawait is a change stream whose getMores wait for longer on the server than the client does.
func maxawait() {
	s := start(func(n int64) bson.M {
		if n > 1 {
			time.Sleep(time.Second)
		}
		return bson.M{"ok": 1, "cursor": bson.M{"id": int64(7), "ns": "db.coll", "firstBatch": bson.A{}, "nextBatch": bson.A{}}}
	})
	stream, err := s.coll("timeoutMS=200").Watch(context.Background(), mongo.Pipeline{}, options.ChangeStream().SetMaxAwaitTime(time.Second))
	must(err)
	stream.Next(context.Background())
	fmt.Printf("MaxAwaitTime 1s, Timeout 200ms: commands after the aggregate: %d\n", s.commands.Load()-1)
}
