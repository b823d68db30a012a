package goodput

import (
	"context"
	"slices"

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
// not an artefact. The arms run one after the other, because the tests' server does not accept the thousands of connections of
// all of them at once.
func ServerScenarios() []Scenario { return slices.Concat(inTurn(lasting(0.1, 2)), realMembers()) }

// inTurn returns the scenario once for each of its arms.
func inTurn(s Scenario) []Scenario {
	var all []Scenario
	for _, arm := range s.Arms {
		one := s
		one.Arms = []string{arm}
		all = append(all, one)
	}
	return all
}

// realMembers are reads from any of three real members, one of which gets twice what it admits.
func realMembers() []Scenario {
	var all []Scenario
	for _, s := range severally(members()[1:2]) {
		s.Real, s.Arms = true, []string{NoRetry, Fork, Throttling}
		all = append(all, inTurn(s)...)
	}
	return all
}

// MeasureServer is Measure with a real server behind the lab, in a new database, which it drops at the end. Without a program to
// start real members, scenarios that need them are left out.
func MeasureServer(ctx context.Context, c Config) (results *Results, err error) {
	c.Scenarios = slices.DeleteFunc(slices.Clone(c.Scenarios), func(s Scenario) bool { return s.Real && c.Mongod == "" })
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
