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

const (
	// products is how many products the shop has.
	products = 100
	// pause is how long everybody pauses after an operation.
	pause = 20 * time.Millisecond
)

// book records what a worker was told about its writes.
type book struct {
	// orders holds the ids of the orders whose insertion was acknowledged.
	orders []string
	// sold is how many pieces were taken from the stock by updates that were acknowledged.
	sold int64
}

// customer is one worker.
type customer struct {
	database *mongo.Database
	orders   *mongo.Collection
	stock    *mongo.Collection
	// history is the orders, read from whichever member is near.
	history *mongo.Collection

	name   string
	random *rand.Rand
	// next is the number of the next order.
	next int
	book book
}

// newCustomer returns a customer, whose choices are always the same.
func newCustomer(database *mongo.Database, number int) *customer {
	return &customer{
		database: database,
		orders:   database.Collection("orders"),
		stock:    database.Collection("stock"),
		history:  database.Collection("orders", options.Collection().SetReadPreference(readpref.Nearest())),
		name:     fmt.Sprintf("customer %d", number),
		random:   rand.New(rand.NewSource(int64(number))),
	}
}

// operation is one of the things that customers do.
type operation struct {
	name string
	// weight is how many of a hundred operations are of this kind.
	weight int
	do     func(*customer, context.Context) error
}

// operations returns all of them; the weights add up to 100.
func operations() []operation {
	return []operation{
		{"insertOne", 35, (*customer).placeOrder},
		{"updateOne", 20, (*customer).takeFromStock},
		{"find", 25, (*customer).listOrders},
		{"aggregate", 10, (*customer).sumOrders},
		{"bulkWrite", 8, (*customer).placeManyOrders},
		{"transaction", 2, (*customer).checkOut},
	}
}

// shop does operations as long as some remain, with a pause after each.
func (c *customer) shop(ctx context.Context, remaining <-chan struct{}, counts *counts) {
	for range remaining {
		drawn := c.random.Intn(100)
		for _, o := range operations() {
			if drawn -= o.weight; drawn < 0 {
				counts.operation(o.name, o.do(c, ctx))
				break
			}
		}
		if !rest(ctx) {
			return
		}
	}
}

// writeReports sums up orders until the context ends, and has the latest ones from the primary.
func (c *customer) writeReports(ctx context.Context, counts *counts) {
	for rest(ctx) {
		if err := c.sum(background(ctx), c.orders); ctx.Err() == nil {
			counts.report(err)
		}
	}
}

// rest pauses, and reports whether there is more to do.
func rest(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(pause):
		return true
	}
}

// newOrder returns an order with a unique ID.
func (c *customer) newOrder() (string, bson.D) {
	id := fmt.Sprintf("%s, order %d", c.name, c.next)
	c.next++
	return id, bson.D{
		{Key: "_id", Value: id},
		{Key: "customer", Value: c.name},
		{Key: "amount", Value: c.random.Intn(100)},
	}
}

// oneLess returns the filter and the update that take a piece of some product from the stock.
func (c *customer) oneLess() (filter, update bson.D) {
	return bson.D{{Key: "_id", Value: c.random.Intn(products)}},
		bson.D{{Key: "$inc", Value: bson.D{{Key: "sold", Value: 1}}}}
}

func (c *customer) placeOrder(ctx context.Context) error {
	id, order := c.newOrder()
	_, err := c.orders.InsertOne(ctx, order)
	if err == nil {
		c.book.orders = append(c.book.orders, id)
	}
	return err
}

func (c *customer) takeFromStock(ctx context.Context) error {
	filter, update := c.oneLess()
	_, err := c.stock.UpdateOne(ctx, filter, update)
	if err == nil {
		c.book.sold++
	}
	return err
}

func (c *customer) listOrders(ctx context.Context) error {
	page := options.Find().SetLimit(20)
	cursor, err := c.history.Find(ctx, bson.D{{Key: "customer", Value: c.name}}, page)
	if err != nil {
		return err
	}
	var orders []bson.Raw
	return cursor.All(ctx, &orders)
}

func (c *customer) sumOrders(ctx context.Context) error { return c.sum(ctx, c.history) }

func (c *customer) sum(ctx context.Context, orders *mongo.Collection) error {
	cursor, err := orders.Aggregate(ctx, mongo.Pipeline{
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
	var ids []string
	var models []mongo.WriteModel
	for i := 0; i < 3; i++ {
		id, order := c.newOrder()
		ids = append(ids, id)
		models = append(models, mongo.NewInsertOneModel().SetDocument(order))
	}
	models = append(models, mongo.NewUpdateOneModel().
		SetFilter(bson.D{{Key: "_id", Value: ids[0]}}).
		SetUpdate(bson.D{{Key: "$set", Value: bson.D{{Key: "paid", Value: true}}}}))
	_, err := c.orders.BulkWrite(ctx, models)
	if err == nil {
		c.book.orders = append(c.book.orders, ids...)
	}
	return err
}

// checkOut places an order and takes a piece from the stock, both or neither.
func (c *customer) checkOut(ctx context.Context) error {
	session, err := c.database.Client().StartSession()
	if err != nil {
		return err
	}
	defer session.EndSession(ctx)

	id, order := c.newOrder()
	filter, update := c.oneLess()
	_, err = session.WithTransaction(ctx, func(ctx context.Context) (interface{}, error) {
		if _, err := c.orders.InsertOne(ctx, order); err != nil {
			return nil, err
		}
		return c.stock.UpdateOne(ctx, filter, update)
	})
	if err == nil {
		c.book.orders = append(c.book.orders, id)
		c.book.sold++
	}
	return err
}
