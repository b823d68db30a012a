//go:build jitter

package overload

import (
	"math/rand/v2"
	"sync"
	_ "unsafe" // for linkname
)

// driverJitter is what newer drivers draw jitter from: a generator of the package, seeded when the program starts.
//
//go:linkname driverJitter go.mongodb.org/mongo-driver/v2/internal/randutil.jitter
var driverJitter func() float64

func init() {
	seedJitter = func(n uint64) {
		var mu sync.Mutex
		random := rand.New(rand.NewPCG(n, n))
		driverJitter = func() float64 {
			mu.Lock()
			defer mu.Unlock()
			return random.Float64()
		}
	}
}
