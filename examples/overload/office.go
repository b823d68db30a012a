package main

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

const (
	// initialPieces is how many pieces of each product there are at first.
	initialPieces = 1000000

	closeTimeout = 10 * time.Second
)

// office sets the shop up and checks its books.
type office struct {
	database *mongo.Database
}

// openOffice uses a new database. An empty name means a random one.
func openOffice(ctx context.Context, client *mongo.Client, name string) (*office, error) {
	if name == "" {
		name = "overload_" + bson.NewObjectID().Hex()
	}
	o := &office{database: client.Database(name)}
	existing, err := o.database.ListCollectionNames(ctx, bson.D{})
	if err != nil {
		return nil, fmt.Errorf("look at database %s: %w", name, err)
	}
	if len(existing) > 0 {
		return nil, fmt.Errorf("database %s is not empty; choose another with -database", name)
	}
	return o, nil
}

// fill creates what the shop needs.
func (o *office) fill(ctx context.Context) error {
	if err := o.database.CreateCollection(ctx, "orders"); err != nil {
		return fmt.Errorf("create the orders: %w", err)
	}
	index := mongo.IndexModel{Keys: bson.D{{Key: "customer", Value: 1}}}
	if _, err := o.database.Collection("orders").Indexes().CreateOne(ctx, index); err != nil {
		return fmt.Errorf("index the orders: %w", err)
	}
	var stock []interface{}
	for i := 0; i < products; i++ {
		stock = append(stock, bson.D{{Key: "_id", Value: i}, {Key: "pieces", Value: initialPieces}})
	}
	if _, err := o.database.Collection("stock").InsertMany(ctx, stock); err != nil {
		return fmt.Errorf("fill the stock: %w", err)
	}
	return nil
}

// lostWrites compares the customers' books with the database and returns how many acknowledged writes are not in it.
func (o *office) lostWrites(ctx context.Context, books []*book) (int64, error) {
	cursor, err := o.database.Collection("orders").Find(ctx, bson.D{})
	if err != nil {
		return 0, fmt.Errorf("read the orders: %w", err)
	}
	var orders []struct {
		ID string `bson:"_id"`
	}
	if err := cursor.All(ctx, &orders); err != nil {
		return 0, fmt.Errorf("read the orders: %w", err)
	}
	present := make(map[string]bool, len(orders))
	for _, order := range orders {
		present[order.ID] = true
	}

	cursor, err = o.database.Collection("stock").Find(ctx, bson.D{})
	if err != nil {
		return 0, fmt.Errorf("read the stock: %w", err)
	}
	var stock []struct {
		Pieces int64 `bson:"pieces"`
	}
	if err := cursor.All(ctx, &stock); err != nil {
		return 0, fmt.Errorf("read the stock: %w", err)
	}
	taken := int64(len(stock)) * initialPieces
	for _, product := range stock {
		taken -= product.Pieces
	}
	return countLost(books, present, taken), nil
}

// countLost counts the acknowledged orders that are not present, and the pieces that were sold but not taken from the stock. More
// may have been taken than sold: a failed operation may have done its write nevertheless.
func countLost(books []*book, present map[string]bool, taken int64) int64 {
	var lost, sold int64
	for _, b := range books {
		sold += b.sold
		for _, id := range b.orders {
			if !present[id] {
				lost++
			}
		}
	}
	if sold > taken {
		lost += sold - taken
	}
	return lost
}

// close drops the database, also when the program was interrupted.
func (o *office) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := o.database.Drop(ctx); err != nil {
		return fmt.Errorf("drop database %s: %w", o.database.Name(), err)
	}
	return nil
}
