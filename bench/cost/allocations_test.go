package cost

import (
	"context"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/version"
)

// tolerance is for what the garbage collector takes from pools.
const tolerance = 1.005

// TestAllocations fails if an operation of the fork allocates more often than was recorded. Unlike time, that does not depend on the machine.
func TestAllocations(t *testing.T) {
	_, forked := recorded(0, 0)
	if !forked {
		t.Skip("the limits are those of the fork")
	}
	for name, tt := range map[string]struct {
		do             operation
		oldest, newest float64 // base
	}{
		"FindOne":        {findOne, 52, 53},
		"InsertOne":      {insertOne, 46, 49},
		"UpdateOne":      {updateOne, 48, 50},
		"All of Raw":     {decodeAll[bson.Raw], 4072, 4073},
		"All of structs": {decodeAll[record], 5817, 5817},
		"All of maps":    {decodeAll[bson.M], 16817, 16818},
		"InsertMany":     {insertMany, 11531, 11531},
		"BulkWrite":      {bulkWrite, 659, 659},
		"transaction":    {transaction, 189, 194},
	} {
		limit, _ := recorded(tt.oldest, tt.newest)
		c := connect(t)
		got := testing.AllocsPerRun(200, func() {
			if err := tt.do(context.Background(), c); err != nil {
				t.Fatal(err)
			}
		})
		if limit *= tolerance; got > limit {
			t.Errorf("%s allocates %v times, want at most %.1f", name, got, limit)
		}
	}
}

// recorded returns the number for the base of the driver, and whether it is the fork.
func recorded(oldest, newest float64) (float64, bool) {
	if strings.HasPrefix(version.Driver, "2.5.0") {
		newest = oldest
	}
	return newest, strings.Contains(version.Driver, "fork")
}
