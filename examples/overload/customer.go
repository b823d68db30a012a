package main

import (
	"context"
	"fmt"
	"math/rand"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
)

// customer is one worker.
type customer struct {
	database *mongo.Database
	name     string
	random   *rand.Rand
	// next is the number of the next order.
	next int
	// orders are the ids of the orders whose insertion was acknowledged, sold how many sales were.
	orders bson.A
	sold   int64
}

// shop does operations as long as some remain, with a pause after each.
func (c *customer) shop(ctx context.Context, remaining <-chan struct{}, counts *counts) {
	operations := []struct {
		name string
		// weight is how many of a hundred operations are of this kind.
		weight int
		do     func(context.Context) error
	}{
		{"insertOne", 35, c.placeOrder}, {"updateOne", 20, c.sell}, {"find", 25, c.listOrders}, {"aggregate", 10, c.sumOrders},
		{"bulkWrite", 8, c.placeManyOrders}, {"transaction", 2, c.checkOut},
	}
	for range remaining {
		drawn := c.random.Intn(100)
		for _, o := range operations {
			if drawn -= o.weight; drawn < 0 {
				counts.operation(o.name, o.do(ctx))
				break
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// order returns an order with a unique ID.
func (c *customer) order() (id string, order bson.D) {
	id = fmt.Sprintf("%s, order %d", c.name, c.next)
	c.next++
	return id, bson.D{
		{Key: "_id", Value: id}, {Key: "customer", Value: c.name}, {Key: "amount", Value: c.random.Intn(100)},
	}
}

// add counts another sale.
func (c *customer) add(ctx context.Context) error {
	_, err := c.database.Collection("sales").UpdateByID(ctx, c.name, bson.D{{Key: "$inc", Value: bson.D{{Key: "sold", Value: 1}}}},
		options.UpdateOne().SetUpsert(true))
	return err
}

func (c *customer) placeOrder(ctx context.Context) error {
	id, order := c.order()
	_, err := c.database.Collection("orders").InsertOne(ctx, order)
	if err == nil {
		c.orders = append(c.orders, id)
	}
	return err
}

func (c *customer) sell(ctx context.Context) error {
	err := c.add(ctx)
	if err == nil {
		c.sold++
	}
	return err
}

// history is the orders, read from whichever member is near.
func (c *customer) history() *mongo.Collection {
	return c.database.Collection("orders", options.Collection().SetReadPreference(readpref.Nearest()))
}

func (c *customer) listOrders(ctx context.Context) error {
	cursor, err := c.history().Find(ctx, bson.D{{Key: "customer", Value: c.name}}, options.Find().SetLimit(20))
	if err != nil {
		return err
	}
	var orders []bson.Raw
	return cursor.All(ctx, &orders)
}

func (c *customer) sumOrders(ctx context.Context) error {
	cursor, err := c.history().Aggregate(ctx, mongo.Pipeline{
		{{Key: "$match", Value: bson.D{{Key: "customer", Value: c.name}}}},
		{{Key: "$group", Value: bson.D{
			{Key: "_id", Value: nil}, {Key: "amount", Value: bson.D{{Key: "$sum", Value: "$amount"}}},
		}}},
	})
	if err != nil {
		return err
	}
	var sums []bson.Raw
	return cursor.All(ctx, &sums)
}

// placeManyOrders places some orders and marks the first of them as paid.
func (c *customer) placeManyOrders(ctx context.Context) error {
	var ids []interface{}
	var models []mongo.WriteModel
	for i := 0; i < 3; i++ {
		id, order := c.order()
		ids = append(ids, id)
		models = append(models, mongo.NewInsertOneModel().SetDocument(order))
	}
	models = append(models, mongo.NewUpdateOneModel().SetFilter(bson.D{{Key: "_id", Value: ids[0]}}).
		SetUpdate(bson.D{{Key: "$set", Value: bson.D{{Key: "paid", Value: true}}}}))
	_, err := c.database.Collection("orders").BulkWrite(ctx, models)
	if err == nil {
		c.orders = append(c.orders, ids...)
	}
	return err
}

// checkOut places an order and counts a sale, both or neither.
func (c *customer) checkOut(ctx context.Context) error {
	session, err := c.database.Client().StartSession()
	if err != nil {
		return err
	}
	defer session.EndSession(ctx)

	id, order := c.order()
	_, err = session.WithTransaction(ctx, func(ctx context.Context) (interface{}, error) {
		if _, err := c.database.Collection("orders").InsertOne(ctx, order); err != nil {
			return nil, err
		}
		return nil, c.add(ctx)
	})
	if err == nil {
		c.orders = append(c.orders, id)
		c.sold++
	}
	return err
}
