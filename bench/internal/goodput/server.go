package goodput

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// ServerResults is what was measured with a real server behind the lab.
type ServerResults struct {
	Server string `json:"server"` // its version, and where it came from
	*Results
}

// ServerScenarios returns what is measured with a real server behind the lab: little is enough to show that the figures of the
// canned replies are no artefact of them. The arms meet it one after the other: the server of the tests does not take the
// thousands of connections of all of them at once.
func ServerScenarios() []Scenario {
	s := lasting(0.1, 2)
	var all []Scenario
	for _, arm := range s.Arms {
		one := s
		one.Arms = []string{arm}
		all = append(all, one)
	}
	return all
}

// MeasureServer is Measure with a real server behind the lab, in a database of its own, which it drops in the end.
func MeasureServer(ctx context.Context, c Config) (_ *Results, err error) {
	client, err := mongo.Connect(options.Client().ApplyURI(c.Backend))
	if err != nil {
		return nil, err
	}
	database := client.Database("bench_" + rand.Text())
	defer func() {
		// What was created is dropped if the measurement was interrupted, too.
		ctx := context.WithoutCancel(ctx)
		err = errors.Join(err, database.Drop(ctx), client.Disconnect(ctx))
	}()
	if _, err := database.Collection("documents").InsertOne(ctx, bson.D{{Key: "_id", Value: 1}}); err != nil {
		return nil, fmt.Errorf("fill the database %s: %w", database.Name(), err)
	}
	c.Database = database.Name()
	return Measure(ctx, c)
}
