// Package hostile is a fuzzer of hostile servers. It runs the driver in virtual time against servers that answer anything, and judges it by
// rules that hold whatever a server does.
package hostile

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"mongofork/lab/virtual/trial"
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

// kinds are those of a trial's calls, perhaps with a way after a slash, and of calls.
var kinds = strings.Fields("download insertOne insertMany updateOne deleteMany bulkWrite clientBulkWriteMany findOne find findOneAndUpdate " +
	"distinct countDocuments estimatedDocumentCount watch insertOne/within runCommand listDatabases listCollections listIndexes")

var calls = map[string]func(context.Context, *mongo.Client) error{"download": download}

// do makes a call.
func do(ctx context.Context, client *mongo.Client, kind string) error {
	if call := calls[kind]; call != nil {
		return call(ctx, client)
	}
	kind, way, _ := strings.Cut(kind, "/")
	return trial.Do(ctx, client, trial.Call{ID: 1, Kind: kind, Way: way, N: 3})
}

func download(ctx context.Context, client *mongo.Client) error {
	stream, err := client.Database("db").GridFSBucket().OpenDownloadStream(ctx, "file")
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, stream)
	return errors.Join(errUnjudged, err, stream.Close())
}

// errUnjudged makes a call that has no single command no success.
var errUnjudged = errors.New("it is not judged whether this is a success")
