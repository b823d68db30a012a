// Commands that are rejected twice by an overloaded server, which find gets over.
package main

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork.internal/defects/server"
)

func main() {
	s := server.Start(func(n int64) bson.M {
		if n <= 2 {
			return server.Overloaded()
		}
		return server.OK(n)
	})
	client := s.Connect(options.Client().SetMaxAdaptiveRetries(2))
	ctx, db := context.Background(), client.Database("db")
	for _, command := range []struct {
		name string
		run  func() error
	}{
		{name: "find", run: func() error { _, err := db.Collection("coll").Find(ctx, bson.D{}); return err }},
		{name: "create", run: func() error { return db.CreateCollection(ctx, "coll") }},
		{name: "drop", run: func() error { return db.Collection("coll").Drop(ctx) }},
		{name: "dropDatabase", run: func() error { return db.Drop(ctx) }},
		{name: "dropSearchIndex", run: func() error { return db.Collection("coll").SearchIndexes().DropOne(ctx, "index") }},
	} {
		s.Commands.Store(0)
		err := command.run()
		fmt.Printf("%s: %d commands, then: %v\n", command.name, s.Commands.Load(), err)
	}
}
