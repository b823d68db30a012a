package goodput

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"mongofork/bench/internal/scratch"
)

// ServerResults are the measurements with a real server behind the lab.
type ServerResults struct {
	Server string `json:"server"` // its version, and where it came from
	*Results
}

// ServerScenarios returns the scenarios for a real server behind the lab: a few show that the figures of the canned replies are
// not an artefact. The arms run one after the other, because the tests' server does not take the thousands of connections of all
// of them at once.
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

// MeasureServer is Measure with a real server behind the lab, in a new database, which it drops at the end.
func MeasureServer(ctx context.Context, c Config) (results *Results, err error) {
	err = scratch.Use(ctx, c.Backend, insertDocument, func(database string) error {
		c.Database = database
		results, err = Measure(ctx, c)
		return err
	})
	return results, err
}

// insertDocument inserts the one document that the operations read.
func insertDocument(ctx context.Context, database *mongo.Database) error {
	_, err := database.Collection("documents").InsertOne(ctx, bson.D{{Key: "_id", Value: 1}})
	return err
}
