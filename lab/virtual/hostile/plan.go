// Package hostile is a fuzzer of hostile servers. It runs the driver in virtual time against servers that answer anything, and judges it by
// rules that hold whatever a server does.
package hostile

import (
	"context"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Plan is what happens in one run. All of it follows from the seed.
type Plan struct {
	Seed      uint64
	Topology  string
	Options   []string
	Mechanism string // of authentication; empty for none
	Calls     []Call
	// Each message in reply to a command of these names, or to any command if there are none, is tampered with in so many of a hundred
	// cases.
	On      string
	Percent int
	// Offset, unless negative, is the byte of the first reply to such a command at which the connection ends.
	Offset int
}

// Call is a call of the application.
type Call struct {
	Kind     string
	Deadline time.Duration // 0 for none
}

// New returns the plan of a seed.
func New(seed uint64) Plan {
	c := chance{rand.New(rand.NewPCG(seed, 0))}
	p := Plan{
		Seed:     seed,
		Topology: pick(c, []string{"standalone", "replicaset:1", "replicaset:3", "sharded:2", "loadbalanced:1"}),
		On: pick(c, []string{"", "", "", "hello", "saslStart", "saslContinue", "find", "getMore", "insert", "update", "bulkWrite", "aggregate",
			"commitTransaction", "findAndModify"}),
		Percent:   pick(c, []int{5, 20, 50, 100}),
		Offset:    -1,
		Mechanism: pick(c, []string{"", "", "SCRAM-SHA-256", "PLAIN", "MONGODB-OIDC"}),
	}
	for _, option := range []string{
		"retryReads=false", "retryWrites=false", "compressors=zlib,snappy", "compressors=snappy", "adaptiveRetries=true",
		"adaptiveThrottling=true", "timeoutMS=2000", "maxPoolSize=2", "minPoolSize=1", "serverMonitoringMode=poll", "connectTimeoutMS=500",
		"maxAdaptiveRetries=1",
	} {
		if c.percent(20) {
			p.Options = append(p.Options, option)
		}
	}
	for range 1 + c.IntN(5) {
		call := Call{Kind: pick(c, kinds)}
		if c.percent(60) {
			call.Deadline = time.Duration(50+c.IntN(5000)) * time.Millisecond
		}
		p.Calls = append(p.Calls, call)
	}
	if seed%4 == 0 { // the connection ends at each offset of each phase
		p.Offset = int(seed/4) % maxOffset
	}
	return p
}

// maxOffset is beyond the length of the messages of most phases.
const maxOffset = 400

// doc is a document of the collection, which has seven.
func doc(id int) bson.D { return bson.D{{Key: "_id", Value: id}, {Key: "n", Value: 1}} }

var increase = bson.D{{Key: "$inc", Value: bson.D{{Key: "n", Value: 1}}}}

// kinds are the kinds of calls, and calls what they do.
var kinds = slices.Sorted(maps.Keys(calls))

var calls = map[string]func(ctx context.Context, client *mongo.Client) error{
	"insertOne": func(ctx context.Context, client *mongo.Client) error {
		_, err := coll(client).InsertOne(ctx, bson.D{})
		return err
	},
	"insertMany": func(ctx context.Context, client *mongo.Client) error {
		_, err := coll(client).InsertMany(ctx, bson.A{bson.D{}, bson.D{}, bson.D{}}, options.InsertMany().SetOrdered(false))
		return err
	},
	"updateOne": func(ctx context.Context, client *mongo.Client) error {
		_, err := coll(client).UpdateOne(ctx, bson.D{{Key: "_id", Value: 1}}, increase, options.UpdateOne().SetUpsert(true))
		return err
	},
	"deleteMany": func(ctx context.Context, client *mongo.Client) error {
		_, err := coll(client).DeleteMany(ctx, bson.D{{Key: "_id", Value: 2}})
		return err
	},
	"bulkWrite": func(ctx context.Context, client *mongo.Client) error {
		_, err := coll(client).BulkWrite(ctx, []mongo.WriteModel{
			mongo.NewInsertOneModel().SetDocument(bson.D{}), mongo.NewDeleteOneModel().SetFilter(doc(1)),
			mongo.NewUpdateOneModel().SetFilter(bson.D{{Key: "_id", Value: 9}}).SetUpdate(increase).SetUpsert(true),
		})
		return err
	},
	"clientBulkWrite": func(ctx context.Context, client *mongo.Client) error {
		_, err := client.BulkWrite(ctx, []mongo.ClientBulkWrite{
			{Database: "db", Collection: "c", Model: mongo.NewClientInsertOneModel().SetDocument(bson.D{})},
			{Database: "db", Collection: "c", Model: mongo.NewClientUpdateOneModel().SetFilter(doc(9)).SetUpdate(increase).SetUpsert(true)},
			{Database: "db", Collection: "c", Model: mongo.NewClientDeleteOneModel().SetFilter(doc(1))},
		}, options.ClientBulkWrite().SetVerboseResults(true))
		return err
	},
	"findOne": func(ctx context.Context, client *mongo.Client) error {
		var found bson.D
		err := coll(client).FindOne(ctx, bson.D{{Key: "_id", Value: 3}}).Decode(&found)
		return known(err)
	},
	"find": func(ctx context.Context, client *mongo.Client) error {
		cursor, err := coll(client).Find(ctx, bson.D{}, options.Find().SetBatchSize(2))
		if err != nil {
			return err
		}
		return cursor.All(ctx, &[]bson.D{})
	},
	"findOneAndUpdate": func(ctx context.Context, client *mongo.Client) error {
		return known(coll(client).FindOneAndUpdate(ctx, bson.D{{Key: "_id", Value: 3}}, increase).Err())
	},
	"distinct": func(ctx context.Context, client *mongo.Client) error {
		var found []any
		return coll(client).Distinct(ctx, "_id", bson.D{}).Decode(&found)
	},
	"count": func(ctx context.Context, client *mongo.Client) error {
		_, err := coll(client).CountDocuments(ctx, bson.D{})
		return err
	},
	"estimate": func(ctx context.Context, client *mongo.Client) error {
		_, err := coll(client).EstimatedDocumentCount(ctx)
		return err
	},
	"watch": func(ctx context.Context, client *mongo.Client) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		stream, err := coll(client).Watch(ctx, mongo.Pipeline{})
		if err != nil {
			return err
		}
		for stream.Next(ctx) {
		}
		return errors.Join(errUnjudged, stream.Close(ctx))
	},
	"transaction": func(ctx context.Context, client *mongo.Client) error {
		session, err := client.StartSession()
		if err != nil {
			return err
		}
		defer session.EndSession(ctx)
		_, err = session.WithTransaction(ctx, func(ctx context.Context) (any, error) {
			return coll(client).InsertOne(ctx, bson.D{})
		})
		return err
	},
	"runCommand": func(ctx context.Context, client *mongo.Client) error {
		return client.Database("db").RunCommand(ctx, bson.D{{Key: "ping", Value: 1}}).Err()
	},
	"listDatabases": func(ctx context.Context, client *mongo.Client) error {
		_, err := client.ListDatabaseNames(ctx, bson.D{})
		return err
	},
	"listCollections": func(ctx context.Context, client *mongo.Client) error {
		_, err := client.Database("db").ListCollectionSpecifications(ctx, bson.D{})
		return err
	},
	"listIndexes": func(ctx context.Context, client *mongo.Client) error {
		_, err := coll(client).Indexes().ListSpecifications(ctx)
		return err
	},
	"download": func(ctx context.Context, client *mongo.Client) error {
		stream, err := client.Database("db").GridFSBucket().OpenDownloadStream(ctx, "file")
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, stream)
		return errors.Join(errUnjudged, err, stream.Close())
	},
}

// errUnjudged makes a call that has no single command no success.
var errUnjudged = errors.New("it is not judged whether this is a success")

func coll(client *mongo.Client) *mongo.Collection { return client.Database("db").Collection("c") }

// known takes a result without a document for the success that it is.
func known(err error) error {
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil
	}
	return err
}
