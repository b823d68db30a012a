//go:build unix

package cost

import (
	"context"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Benchmark measures each operation with a context that can be cancelled, and with one that cannot.
func Benchmark(b *testing.B) {
	for _, o := range operations {
		b.Run(o.name+"/cancellable", func(b *testing.B) { measure(b.Context(), b, connect(b), o.do) })
		b.Run(o.name+"/background", func(b *testing.B) { measure(context.Background(), b, connect(b), o.do) })
	}
}

// BenchmarkServer measures operations on the server in MONGODB_URI, over TCP: what is left of the gain with a real one.
func BenchmarkServer(b *testing.B) {
	uri := os.Getenv("MONGODB_URI")
	if uri == "" {
		b.Skip("MONGODB_URI names no server")
	}
	for _, o := range operations {
		if o.name == "InsertMany" || o.name == "BulkWrite" { // the server is most of these
			continue
		}
		b.Run(o.name, func(b *testing.B) {
			c := open(b, options.Client().ApplyURI(uri))
			require.NoError(b, c.Drop(b.Context()))
			require.NoError(b, insertMany(b.Context(), c))
			measure(b.Context(), b, c, o.do)
		})
	}
}

func BenchmarkFindOneOf64Goroutines(b *testing.B) {
	c := connect(b)
	b.ReportAllocs()
	b.SetParallelism(max(1, 64/runtime.GOMAXPROCS(0)))
	start := processorTime(b)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := findOne(context.Background(), c); err != nil {
				b.Error(err)
				return
			}
		}
	})
	reportProcessorTime(b, start)
}

func measure(ctx context.Context, b *testing.B, c *mongo.Collection, do operation) {
	b.Helper()
	b.ReportAllocs()
	start := processorTime(b)
	for b.Loop() {
		if err := do(ctx, c); err != nil {
			b.Fatal(err)
		}
	}
	reportProcessorTime(b, start)
}

// processorTime returns the time that processors have spent on this process, for the program and for the system.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func reportProcessorTime(b *testing.B, start time.Duration) {
	b.Helper()
	b.ReportMetric(float64(processorTime(b)-start)/float64(b.N), "cpu-ns/op")
}
