package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// closeTimeout bounds what is cleaned up, also after an interrupt.
const closeTimeout = 10 * time.Second

// office sets the shop up and checks its books. It has a client of its own, with a name that limits spare.
type office struct {
	database *mongo.Database
}

// openOffice makes a database with what the shop needs.
func openOffice(ctx context.Context, uri string) (*office, error) {
	client, err := mongo.Connect(options.Client().ApplyURI(uri).SetAppName(appName + "-office"))
	if err != nil {
		return nil, err
	}
	o := &office{database: client.Database("overload_" + bson.NewObjectID().Hex())}
	index := mongo.IndexModel{Keys: bson.D{{Key: "customer", Value: 1}}}
	_, err = o.database.Collection("orders").Indexes().CreateOne(ctx, index)
	var stock []interface{}
	for i := 0; i < products; i++ {
		stock = append(stock, bson.D{{Key: "_id", Value: i}, {Key: "sold", Value: 0}})
	}
	if err == nil {
		_, err = o.database.Collection("stock").InsertMany(ctx, stock)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("set up the shop: %w", err), o.close())
	}
	return o, nil
}

// lostWrites compares the customers' books with the database and returns how many acknowledged writes are not in it. More may be
// in it: a failed operation may have done its write nevertheless.
func (o *office) lostWrites(ctx context.Context, books []*book) (int64, error) {
	orders, sold := bson.A{}, int64(0)
	for _, b := range books {
		sold += b.sold
		for _, id := range b.orders {
			orders = append(orders, id)
		}
	}
	acknowledged := bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: orders}}}}
	present, err := o.database.Collection("orders").CountDocuments(ctx, acknowledged)
	if err != nil {
		return 0, fmt.Errorf("count the orders: %w", err)
	}
	cursor, err := o.database.Collection("stock").Find(ctx, bson.D{})
	if err != nil {
		return 0, fmt.Errorf("read the stock: %w", err)
	}
	var stock []struct{ Sold int64 }
	if err := cursor.All(ctx, &stock); err != nil {
		return 0, fmt.Errorf("read the stock: %w", err)
	}
	for _, product := range stock {
		sold -= product.Sold
	}
	if sold < 0 {
		sold = 0
	}
	return int64(len(orders)) - present + sold, nil
}

// close drops the database.
func (o *office) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return errors.Join(o.database.Drop(ctx), o.database.Client().Disconnect(ctx))
}

// limit lets members shed load, by the request limiter that MongoDB has from 8.2 on and the overload lab imitates.
type limit struct {
	rate  int
	lasts time.Duration
	// oneSecondary spares all other members.
	oneSecondary bool
}

// shed begins. The returned function waits until the members have recovered.
func (l limit) shed(ctx context.Context, uri string) (recovered func() error, err error) {
	members, err := l.members(ctx, uri)
	if err != nil {
		return nil, err
	}
	off := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		return setParameters(ctx, members, bson.E{Key: "ingressRequestRateLimiterEnabled", Value: false})
	}
	exempt := bson.D{{Key: "appNames", Value: bson.A{appName + "-office"}}}
	err = setParameters(ctx, members,
		bson.E{Key: "ingressRequestRateLimiterApplicationExemptions", Value: exempt},
		bson.E{Key: "ingressRequestAdmissionRatePerSec", Value: int32(l.rate)},
		bson.E{Key: "ingressRequestAdmissionBurstCapacitySecs", Value: 0.1},
		bson.E{Key: "ingressRequestAdmissionMaxQueueDepth", Value: int32(0)},
		bson.E{Key: "ingressRequestRateLimiterEnabled", Value: true})
	if err != nil {
		return nil, errors.Join(err, off())
	}
	over := make(chan error, 1)
	timer := time.AfterFunc(l.lasts, func() { over <- off() })
	return func() error {
		if timer.Stop() {
			return off()
		}
		return <-over
	}, nil
}

// members returns direct clients of the members that shed load.
func (l limit) members(ctx context.Context, uri string) ([]*mongo.Client, error) {
	var members []*mongo.Client
	for _, host := range options.Client().ApplyURI(uri).Hosts {
		client, err := mongo.Connect(options.Client().SetHosts([]string{host}).SetDirect(true))
		if err != nil {
			return nil, err
		}
		var hello struct{ Secondary bool }
		if err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello); err != nil {
			return nil, fmt.Errorf("ask %s for its role: %w", host, err)
		}
		if !l.oneSecondary {
			members = append(members, client)
		} else if hello.Secondary {
			return []*mongo.Client{client}, nil
		}
	}
	if len(members) == 0 {
		return nil, errors.New("there is no secondary")
	}
	return members, nil
}

// setParameters tries all members, even if one fails.
func setParameters(ctx context.Context, members []*mongo.Client, parameters ...bson.E) (err error) {
	for _, member := range members {
		command := append(bson.D{{Key: "setParameter", Value: 1}}, parameters...)
		err = errors.Join(err, member.Database("admin").RunCommand(ctx, command).Err())
	}
	return err
}
