package deployment

import (
	"bytes"
	"context"
	"io"
	"net"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/wire"
)

// BenchmarkFind is a find of one document that the backend has at hand, without the lab and through each topology. It
// reports the median of a find, of which the difference is what the lab adds.
func BenchmarkFind(b *testing.B) {
	backend := startBackend(b)
	benchmarks := []struct{ name, uri string }{{"direct", "mongodb://" + backend.Address + "/?directConnection=true"}}
	for _, text := range []string{"standalone", "replicaset:3", "sharded:2"} {
		l := startLab(b, text, Config{Backend: backend})
		benchmarks = append(benchmarks, struct{ name, uri string }{text, l.Endpoints()[0].URI})
	}
	for _, bench := range benchmarks {
		b.Run(bench.name, func(b *testing.B) {
			finds := plainClient(b, bench.uri)
			var latencies []time.Duration
			for b.Loop() {
				start := time.Now()
				require.NoError(b, finds.FindOne(b.Context(), bson.D{}).Err())
				latencies = append(latencies, time.Since(start))
			}
			slices.Sort(latencies)
			b.ReportMetric(float64(latencies[len(latencies)/2].Nanoseconds())/1e3, "median-µs")
		})
	}
}

// BenchmarkThroughput is how many messages, which are requests and replies, the lab carries from 32 connections that each
// wait for their reply. The clients do nothing but write and read, for what a driver does beside that takes the same
// processors.
func BenchmarkThroughput(b *testing.B) {
	backend := startBackend(b)
	l := startLab(b, "replicaset:1", Config{Backend: backend})
	for _, bench := range []struct{ name, address string }{{"direct", backend.Address}, {"replicaset:1", l.Hosts()[0]}} {
		b.Run(bench.name, func(b *testing.B) {
			request, replySize := cannedFind(b)
			b.SetParallelism(32 / runtime.GOMAXPROCS(0))
			b.RunParallel(func(pb *testing.PB) {
				conn, err := net.Dial("tcp", bench.address)
				if err != nil {
					b.Error(err)
					return
				}
				defer conn.Close()
				for reply := make([]byte, replySize); pb.Next(); {
					_, err := conn.Write(request)
					if err == nil {
						_, err = io.ReadFull(conn, reply)
					}
					if err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(2*float64(b.N)/b.Elapsed().Seconds(), "messages/s")
		})
	}
}

// cannedFind returns a find as it travels, and the size of its reply.
func cannedFind(b *testing.B) ([]byte, int) {
	codec, err := wire.NewCodec(0)
	require.NoError(b, err)
	body, err := bson.Marshal(bson.D{{Key: "find", Value: "c"}, {Key: "$db", Value: "db"}})
	require.NoError(b, err)
	var request, reply bytes.Buffer
	require.NoError(b, codec.Write(&request, &wire.Message{RequestID: 1, Content: &wire.Msg{Body: body}}))
	require.NoError(b, codec.Write(&reply, &wire.Message{Content: &wire.Msg{Body: cannedReplies(b)["find"]}}))
	return request.Bytes(), reply.Len()
}

// plainClient returns the collection of a client that has connected already.
func plainClient(b *testing.B, uri string) *mongo.Collection {
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, client.Disconnect(context.Background())) })
	require.NoError(b, client.Ping(b.Context(), nil))
	return collection(client)
}
