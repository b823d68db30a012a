package cost

import (
	"context"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/version"
)

const (
	// tolerance is for what the monitor allocates meanwhile; it is less than one allocation of a small operation.
	tolerance = 1.002
	// counted is how many allocations are counted of each operation.
	counted = 500_000
)

// TestAllocations fails if an operation of the fork allocates more often than was recorded. Unlike time, that does not depend on the machine.
func TestAllocations(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // it would take what pools hold
	for name, tt := range map[string]struct {
		do             operation
		oldest, newest float64 // base
	}{
		"FindOne":        {findOne, 50, 51},
		"InsertOne":      {insertOne, 44, 46},
		"UpdateOne":      {updateOne, 46, 47},
		"All of Raw":     {decodeAll[bson.Raw], 4078, 4079},
		"All of structs": {decodeAll[record], 5823, 5823},
		"All of maps":    {decodeAll[bson.M], 16822, 16823},
		"InsertMany":     {insertMany, 11529, 11529},
		"BulkWrite":      {bulkWrite, 541, 541},
		"transaction":    {transaction, 183, 188},
	} {
		limit := recorded(tt.oldest, tt.newest)
		c := connect(t)
		got := allocations(t, int(counted/limit), c, tt.do)
		t.Logf("%s: %.2f allocations", name, got)
		if got > limit*tolerance {
			t.Errorf("%s allocates %.2f times, want at most %v", name, got, limit)
		}
	}
}

// allocations returns how often an operation allocates, as the mean of some runs.
func allocations(t *testing.T, runs int, c *mongo.Collection, do operation) float64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	for i := range 1 + runs {
		if i == 1 { // the first fills the pools
			runtime.ReadMemStats(&before)
		}
		if err := do(context.Background(), c); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / float64(runs)
}

// recorded returns the number for the base of the driver.
func recorded(oldest, newest float64) float64 {
	if strings.HasPrefix(version.Driver, "2.5.0") {
		return oldest
	}
	return newest
}
