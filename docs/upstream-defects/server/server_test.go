package server_test

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"mongofork.internal/defects/server"
)

func TestServerAnswersCommands(t *testing.T) {
	s := server.Start(func(n int64, command string) bson.D {
		if n == 2 {
			return server.Error(13)
		}
		return server.OK()
	})
	client, err := mongo.Connect(s.Options())
	if err != nil {
		t.Fatal(err)
	}
	ctx, coll := context.Background(), client.Database("db").Collection("coll")
	if _, err := coll.Find(ctx, bson.D{}); err != nil {
		t.Errorf("first command: %v", err)
	}
	if _, err := coll.Find(ctx, bson.D{}); err == nil {
		t.Error("second command: no error")
	}
	if n := s.Commands.Load(); n != 2 {
		t.Errorf("%d commands", n)
	}
}
