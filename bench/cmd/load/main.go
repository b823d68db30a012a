// Load does operations of one kind with the driver that it was built with, on the server that MONGODB_URI names. For each number
// that it reads it does so many, and prints what they cost as a line of Go's benchmark format. It is built once with each driver
// of a comparison.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/bench/internal/workload"
)

func main() {
	name := flag.String("workload", "FindOne", "`name` of the workload")
	goroutines := flag.Int("goroutines", 1, "how many goroutines share the client")
	database := flag.String("database", "bench", "`name` of the database")
	flag.Parse()
	if err := run(context.Background(), os.Getenv("MONGODB_URI"), *database, *name, *goroutines, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "load: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, uri, database, name string, goroutines int, in io.Reader, out io.Writer) error {
	w, err := workload.Find(name)
	if err != nil {
		return err
	}
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		return err
	}
	defer func() { _ = client.Disconnect(ctx) }()
	collection := client.Database(database).Collection(w.Collection)
	numbers := bufio.NewScanner(in)
	for numbers.Scan() {
		n, err := strconv.Atoi(numbers.Text())
		if err != nil || n < 1 {
			return fmt.Errorf("%q is not a number of operations", numbers.Text())
		}
		before := takeReading()
		if err := workload.Run(ctx, w.Do, collection, goroutines, n); err != nil {
			return err
		}
		cost := takeReading().since(before, n)
		if _, err := fmt.Fprintf(out, "Benchmark%s/goroutines=%d %d %s\n", w.Name, goroutines, n, cost); err != nil {
			return err
		}
	}
	return numbers.Err()
}

// reading is the state of the process's meters.
type reading struct {
	at             time.Time
	processor      time.Duration
	bytes, mallocs uint64
}

func takeReading() reading {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return reading{at: time.Now(), processor: processorTime(), bytes: memory.TotalAlloc, mallocs: memory.Mallocs}
}

// since returns the costs of each of n operations.
func (r reading) since(before reading, n int) string {
	each := func(total float64) float64 { return total / float64(n) }
	return fmt.Sprintf("%.1f ns/op %.1f cpu-ns/op %.1f B/op %.3f allocs/op",
		each(float64(r.at.Sub(before.at))), each(float64(r.processor-before.processor)),
		each(float64(r.bytes-before.bytes)), each(float64(r.mallocs-before.mallocs)))
}
