package virtual

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestRecovery is about clients that wait for a server while something before it accepts connections and closes them: a proxy, or a
// limit on new connections. Once the server is back, they find it as soon as server-monitoring.md lets them, which is with the next check
// after minHeartbeatFrequencyMS (500 ms). With adaptiveThrottling the fork may take 1 s longer.
func TestRecovery(t *testing.T) {
	const checks, later = 500 * time.Millisecond, time.Second
	tests := []struct {
		option string
		most   time.Duration
	}{
		{option: "serverSelectionTimeoutMS=90000", most: checks},
		{option: "serverSelectionTimeoutMS=90000&adaptiveThrottling=true", most: checks + later},
	}
	for _, tt := range tests {
		for _, away := range []time.Duration{time.Second, 5 * time.Second, time.Minute} {
			t.Run(fmt.Sprintf("%s/%v", tt.option, away), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					took := recovery(t, tt.option, away)
					t.Logf("median %v, at most %v", took[len(took)/2], took[len(took)-1])
					const slack = 50 * time.Millisecond // round trips of the check, of the handshake and of the command
					assert.Less(t, took[len(took)-1], tt.most+slack)
				})
			})
		}
	}
}

// recovery returns how long after the server is back each of the clients has its answer, in order.
func recovery(t *testing.T, option string, away time.Duration) []time.Duration {
	const clients = 40
	random := rand.New(rand.NewPCG(1, 1))
	cluster := New(t, Options{Topology: "standalone"})
	cluster.SetLink(Closing)
	back := time.Now().Add(away)
	time.AfterFunc(away, func() { cluster.SetLink(Up) })

	var running sync.WaitGroup
	took := make([]time.Duration, clients)
	for i := range clients {
		begin := time.Duration(random.Int64N(int64(time.Second)))
		running.Go(func() {
			time.Sleep(begin)
			client := connect(t, cluster.Client(option))
			assert.NoError(t, client.Ping(context.Background(), nil))
			took[i] = time.Since(back)
		})
	}
	running.Wait()
	slices.Sort(took)
	return took
}
