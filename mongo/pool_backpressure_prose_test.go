package mongo

import (
	"context"
	"crypto/tls"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// server-discovery-and-monitoring/tests, "Connection Pool Backpressure". The rate limiter is a server that closes nine of
// ten connections.
func TestSDAMProseConnectionPoolBackpressure(t *testing.T) {
	t.Run("without TLS", func(t *testing.T) { connectionPoolBackpressure(t, nil, nil) })
	t.Run("with TLS", func(t *testing.T) {
		cfg := &tls.Config{Certificates: []tls.Certificate{scripted.SelfSigned(t)}}
		connectionPoolBackpressure(t, cfg, &tls.Config{InsecureSkipVerify: true})
	})
}

func connectionPoolBackpressure(t *testing.T, server, ours *tls.Config) {
	const wanted = 10
	l := scripted.Listen(t, scripted.OK(firstBatch(0)), server)
	var failed, cleared atomic.Int64
	enough := make(chan struct{})
	client, err := Connect(
		options.Client().ApplyURI(l.URI()).SetMaxConnecting(100).SetTLSConfig(ours).SetPoolMonitor(&event.PoolMonitor{
			Event: func(e *event.PoolEvent) {
				switch e.Type {
				case event.ConnectionCheckOutFailed:
					if failed.Add(1) == wanted {
						close(enough)
					}
				case event.ConnectionPoolCleared:
					cleared.Add(1)
				}
			},
		}),
	)
	require.NoError(t, err)
	require.NoError(t, client.Ping(context.Background(), nil))

	// Until enough have failed no find ends, so that none gives its connection to another, however slow the machine is.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	hold := func(command string) any {
		if command == "find" {
			select {
			case <-enough:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	}
	l.Answer.Store(&hold)
	l.RefuseEach.Store(10)
	var wg sync.WaitGroup
	for i := 0; i < 100; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if cursor, err := client.Database("test").Collection("test").Find(ctx, bson.D{}); err == nil {
				_ = cursor.Close(ctx)
			}
		}()
	}
	wg.Wait()
	require.NoError(t, client.Disconnect(context.Background()))

	assert.True(t, failed.Load() >= wanted, "%d checkouts failed, want at least %d", failed.Load(), wanted)
	assert.Equal(t, int64(0), cleared.Load(), "the pool was cleared")
}
