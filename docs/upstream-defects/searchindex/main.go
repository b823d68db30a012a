// An error of the server for a command about search indexes, and the same for another command.
package main

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork.internal/defects/server"
)

func main() {
	s := server.Start(func(int64) bson.M { return server.Error(13) }) // Unauthorized
	ctx, coll := context.Background(), s.Connect(options.Client()).Database("db").Collection("coll")
	tell := func(method string, err error) {
		var command mongo.CommandError
		var server mongo.ServerError
		fmt.Printf("%s: CommandError %v, ServerError %v, %T\n", method, errors.As(err, &command), errors.As(err, &server), err)
	}
	tell("Collection.Drop", coll.Drop(ctx))
	tell("SearchIndexView.DropOne", coll.SearchIndexes().DropOne(ctx, "index"))
	tell("SearchIndexView.UpdateOne", coll.SearchIndexes().UpdateOne(ctx, "index", bson.D{}))
}
