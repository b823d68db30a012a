package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
)

// pause is how long everybody pauses after an operation.
const pause = 20 * time.Millisecond

// customer is one worker.
type customer struct {
	database *mongo.Database
	name     string
	random   *rand.Rand
	orders   bson.A // ids of the orders whose insertion was acknowledged
	sold     int64  // acknowledged sales
}

// newCustomer returns a customer, whose choices are always the same.
func newCustomer(database *mongo.Database, number int) *customer {
	return &customer{
		database: database, name: fmt.Sprintf("customer %d", number), random: rand.New(rand.NewPCG(uint64(number), 0)),
		orders: bson.A{},
	}
}

// shop does operations as long as some remain, with a pause after each.
func (c *customer) shop(ctx context.Context, remaining <-chan struct{}, counts *counts) {
	for range remaining {
		switch drawn := c.random.IntN(100); {
		case drawn < 40:
			counts.operation("insertOne", c.buy(ctx, c.order, true, false))
		case drawn < 60:
			counts.operation("updateOne", c.buy(ctx, c.sell, false, true))
		case drawn < 98:
			counts.operation("find", c.listOrders(ctx))
		default:
			counts.operation("transaction", c.buy(ctx, c.checkOut, true, true))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// buy does something under a new id, and remembers what that was, if it is acknowledged.
func (c *customer) buy(ctx context.Context, do func(context.Context, bson.ObjectID) error, orders, sells bool) error {
	id := bson.NewObjectID()
	err := do(ctx, id)
	if err == nil && orders {
		c.orders = append(c.orders, id)
	}
	if err == nil && sells {
		c.sold++
	}
	return err
}

func (c *customer) order(ctx context.Context, id bson.ObjectID) error {
	_, err := c.database.Collection("orders").InsertOne(ctx, bson.D{{Key: "_id", Value: id}, {Key: "customer", Value: c.name}})
	return err
}

// sell counts another sale.
func (c *customer) sell(ctx context.Context, _ bson.ObjectID) error {
	_, err := c.database.Collection("sales").UpdateByID(ctx, c.name, bson.D{{Key: "$inc", Value: bson.D{{Key: "sold", Value: 1}}}},
		options.UpdateOne().SetUpsert(true))
	return err
}

// checkOut places an order and counts a sale, both or neither.
func (c *customer) checkOut(ctx context.Context, id bson.ObjectID) error {
	return c.database.Client().UseSession(ctx, func(ctx context.Context) error {
		_, err := mongo.SessionFromContext(ctx).WithTransaction(ctx, func(ctx context.Context) (any, error) {
			if err := c.order(ctx, id); err != nil {
				return nil, err
			}
			return nil, c.sell(ctx, id)
		})
		return err
	})
}

// listOrders reads from whichever member is near.
func (c *customer) listOrders(ctx context.Context) error {
	nearby := c.database.Collection("orders", options.Collection().SetReadPreference(readpref.Nearest()))
	cursor, err := nearby.Find(ctx, bson.D{{Key: "customer", Value: c.name}}, options.Find().SetLimit(20))
	if err != nil {
		return err
	}
	var orders []bson.Raw
	return cursor.All(ctx, &orders)
}

// lostWrites compares what the customer was told with the database and returns how many acknowledged writes are not in it. More may
// be in it: a failed operation may have done its write nevertheless.
func (c *customer) lostWrites(ctx context.Context, office *mongo.Database) (int64, error) {
	present, err := office.Collection("orders").CountDocuments(ctx, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: c.orders}}}})
	if err != nil {
		return 0, err
	}
	var sales struct{ Sold int64 }
	err = office.Collection("sales").FindOne(ctx, bson.D{{Key: "_id", Value: c.name}}).Decode(&sales)
	if errors.Is(err, mongo.ErrNoDocuments) {
		err = nil
	}
	return int64(len(c.orders)) - present + max(c.sold-sales.Sold, 0), err
}
