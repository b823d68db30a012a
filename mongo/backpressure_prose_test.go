package mongo

import (
	"context"
	"crypto/tls"
	"errors"
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
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// The prose tests of the specifications' revision of 2026-03-12 that are about client backpressure. Their fail points are
// replies of a script, and their durations are what the clock was asked to sleep.

func findOne(s *scripted.Script, client *Client) error {
	err := client.Database("db").Collection("coll").FindOne(bgCtx, bson.D{}).Err()
	s.Finish()
	return err
}

func assertOverloadError(t *testing.T, err error) {
	t.Helper()
	labeled := scripted.As[LabeledError](t, err)
	assert.True(t, labeled.HasErrorLabel(driver.ErrSystemOverloadedError))
	assert.True(t, labeled.HasErrorLabel(driver.ErrRetryableError))
}

// client-backpressure/tests, "Test 1: Operation Retry Uses Exponential Backoff".
func TestBackpressureProse1(t *testing.T) {
	duration := func(jitter float64) time.Duration {
		s := scripted.New(t, scripted.Repeat(6, scripted.Failure(2, driver.ErrSystemOverloadedError, driver.ErrRetryableError))...)
		s.Policy.Jitter = func() float64 { return jitter }
		err := insertAny(bgCtx, scriptColl(t, s))
		assert.True(t, errors.As(err, &CommandError{}), "got %T (%v)", err, err)
		return s.Elapsed
	}
	without, with := duration(0), duration(1)
	assert.Equal(t, time.Duration(0), without)
	assert.Equal(t, 3100*time.Millisecond, with, "the sum of 5 backoffs")
}

// client-backpressure/tests, "Test 3: Overload Errors are Retried a Maximum of MAX_RETRIES times".
func TestBackpressureProse3(t *testing.T) {
	s := scripted.New(t, scripted.Repeat(6, scripted.Overloaded())...)
	assertOverloadError(t, findOne(s, connectScript(t, s)))
	assert.Len(t, s.Sent, 6)
}

// retryable-reads/tests, "3. Retrying Reads in a Replica Set".
func TestRetryableReadsProse3(t *testing.T) {
	sameServer := func(first any) bool {
		s := scripted.New(t, first, scripted.OK(firstBatch(0, bson.D{})))
		s.Servers = append(s.Servers, scripted.Server("b", description.ServerKindRSSecondary))
		client := connectScript(t, s, options.Client().ApplyURI("mongodb://a/?readPreference=primaryPreferred"))
		require.NoError(t, findOne(s, client))
		require.Len(t, s.Selected, 2)
		return s.Selected[0] == s.Selected[1]
	}
	assert.False(t, sameServer(scripted.Failure(6, driver.ErrRetryableError, driver.ErrSystemOverloadedError)), "3.1")
	assert.True(t, sameServer(scripted.Failure(6, driver.ErrRetryableError)), "3.2")
}

// retryable-writes/tests, "6. Test error propagation after encountering multiple errors".
func TestRetryableWritesProse6(t *testing.T) {
	const shutdown, notPrimary = 91, 10107
	overload := []string{driver.ErrRetryableError, driver.ErrSystemOverloadedError}
	nothingWritten := append(append([]string(nil), overload...), driver.NoWritesPerformed)

	for _, tt := range []struct {
		name        string
		first, rest any
		code        int32
		noWrites    bool
	}{
		{name: "case 1: only errors without NoWritesPerformed", first: scripted.Failure(shutdown, overload...),
			rest: scripted.Failure(notPrimary, overload...), code: notPrimary},
		{name: "case 2: only errors with NoWritesPerformed", first: scripted.Failure(shutdown, nothingWritten...),
			rest: scripted.Failure(notPrimary, nothingWritten...), code: shutdown, noWrites: true},
		{name: "case 3: both", first: scripted.Failure(shutdown, overload...), rest: scripted.Failure(shutdown, nothingWritten...),
			code: shutdown},
	} {
		s := scripted.New(t, append([]any{tt.first}, scripted.Repeat(5, tt.rest)...)...)
		_, err := scriptColl(t, s).InsertOne(bgCtx, bson.D{})
		s.Finish()
		serverErr := scripted.As[ServerError](t, err)
		assert.True(t, serverErr.HasErrorCode(int(tt.code)), "%s: got %v", tt.name, err)
		assert.Equal(t, tt.noWrites, serverErr.HasErrorLabel(driver.NoWritesPerformed), tt.name)
	}
}

// server-discovery-and-monitoring/tests, "Connection Pool Backpressure". The server closes nine of ten connections.
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
	client := must(Connect(
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
	))(t)
	require.NoError(t, client.Ping(bgCtx, nil))

	// Until enough have failed no find ends, so that none gives its connection to another, however slow the machine is.
	ctx, cancel := context.WithTimeout(bgCtx, time.Minute)
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
	require.NoError(t, client.Disconnect(bgCtx))

	assert.True(t, failed.Load() >= wanted, "%d checkouts failed, want at least %d", failed.Load(), wanted)
	assert.Equal(t, int64(0), cleared.Load(), "the pool was cleared")
}
