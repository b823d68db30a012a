package main

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// bulktimeout is a bulk write of alternating kinds whose commands take a little less than the client's Timeout each.
func bulktimeout() {
	const timeout = 500 * time.Millisecond
	s := start(func(n int64) bson.M {
		time.Sleep(timeout * 8 / 10)
		return bson.M{"ok": 1, "n": 1}
	})
	var models []mongo.WriteModel
	for range 3 {
		models = append(models, mongo.NewInsertOneModel().SetDocument(bson.D{}), mongo.NewDeleteOneModel().SetFilter(bson.D{}))
	}
	begin := time.Now()
	_, err := s.coll(fmt.Sprint("timeoutMS=", timeout.Milliseconds())).BulkWrite(context.Background(), models)
	fmt.Printf("BulkWrite, Timeout %v: took more than twice as long: %v, timeout: %v\n", timeout, time.Since(begin) > 2*timeout,
		mongo.IsTimeout(err))
}

// ddltimeout is commands by a client with a Timeout that a server answers late.
func ddltimeout() {
	const timeout = 200 * time.Millisecond
	s := start(func(n int64) bson.M {
		time.Sleep(5 * timeout)
		return ok(n)
	})
	ctx, db := context.Background(), s.connect(fmt.Sprint("timeoutMS=", timeout.Milliseconds())).Database("db")
	for _, call := range []struct {
		name string
		run  func() error
	}{
		{name: "CreateCollection", run: func() error { return db.CreateCollection(ctx, "coll") }},
		{name: "CreateView", run: func() error { return db.CreateView(ctx, "view", "coll", mongo.Pipeline{}) }},
		{name: "Database.Drop", run: func() error { return db.Drop(ctx) }},
	} {
		begin := time.Now()
		err := call.run()
		fmt.Printf("%s, Timeout %v: took more than three times as long: %v, timeout: %v\n", call.name, timeout,
			time.Since(begin) > 3*timeout, mongo.IsTimeout(err))
	}
}
