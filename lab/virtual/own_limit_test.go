package virtual

import (
	"context"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	events "go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
)

// frugal is a dialer that can be out of files.
type frugal struct {
	options.ContextDialer
	out   atomic.Bool
	dials atomic.Int64 // without a file
}

func (f *frugal) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if !f.out.Load() {
		return f.ContextDialer.DialContext(ctx, network, address)
	}
	f.dials.Add(1)
	return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("socket", syscall.EMFILE)}
}

// TestClientOutOfFiles is about five seconds in which a client of three members can open no connection, with more calls than it has
// connections: those that there are serve calls, nothing is learnt about the servers, and no call dials more than twice. With a deadline,
// a call dials between backoffs until one of the connections is idle.
func TestClientOutOfFiles(t *testing.T) {
	for _, option := range []string{"", "adaptiveThrottling=true", "adaptiveRetries=true", "timeoutMS=2000"} {
		virtually(t, option, func(t *testing.T) { outOfFiles(t, option) })
	}
}

const (
	warming = 6                     // calls at a time that open connections
	wanting = 100                   // calls at a time that want one
	without = 5 * time.Second       // without files
	working = 10 * time.Millisecond // of a server at a command
	pausing = 10 * time.Millisecond // of a caller after an error
)

// counted is what became of calls, and an error of those that failed.
type counted struct {
	served, failed int
	err            error
}

// count makes so many calls at a time, one after the other, for a while.
func count(coll *mongo.Collection, callers int, while time.Duration) (all counted) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for end := time.Now().Add(while); callers > 0; callers-- {
		wg.Go(func() {
			for time.Now().Before(end) {
				_, err := coll.EstimatedDocumentCount(context.Background())
				mu.Lock()
				if err == nil {
					all.served++
				} else {
					all.failed, all.err = all.failed+1, err
				}
				mu.Unlock()
				if err != nil {
					time.Sleep(pausing)
				}
			}
		})
	}
	wg.Wait()
	return all
}

func outOfFiles(t *testing.T, option string) {
	var lost, ready atomic.Int64 // pools that were cleared, and servers that became unknown; connections
	cluster := New(t, Options{Topology: "replicaset:3"})
	cluster.Intercept(func(c Command, run func() bson.Raw) bson.Raw {
		if c.Name == "count" {
			time.Sleep(working)
		}
		return run()
	})
	opts := cluster.Client(option).SetReadPreference(readpref.Nearest())
	dialer := &frugal{ContextDialer: opts.Dialer}
	client := connect(t, opts.SetDialer(dialer).
		SetPoolMonitor(&events.PoolMonitor{Event: func(e *events.PoolEvent) {
			switch e.Type {
			case events.ConnectionPoolCleared:
				lost.Add(1)
			case events.ConnectionReady:
				ready.Add(1)
			}
		}}).
		SetServerMonitor(&events.ServerMonitor{ServerDescriptionChanged: func(e *events.ServerDescriptionChangedEvent) {
			if e.NewDescription.Kind == "Unknown" {
				lost.Add(1)
			}
		}}))
	coll := client.Database("db").Collection("c")
	require.Zero(t, count(coll, warming, time.Second).failed)
	capacity := int(ready.Load()) * int(without/(working+time.Millisecond)) // of these connections
	lost.Store(0)

	dialer.out.Store(true)
	calls := count(coll, wanting, without)
	dialer.out.Store(false)
	assert.Zero(t, lost.Load())
	assert.Greater(t, calls.served, capacity*3/4)
	if strings.HasPrefix(option, "timeoutMS") {
		assert.Less(t, calls.failed, calls.served/20)
		assert.Less(t, int(dialer.dials.Load()), 10*wanting*int(without/time.Second))
		assert.Zero(t, count(coll, warming, time.Second).failed)
		return
	}
	assert.Positive(t, calls.failed)
	assert.LessOrEqual(t, int(dialer.dials.Load()), 2*(calls.served+calls.failed))
	assert.ErrorIs(t, calls.err, syscall.EMFILE)
	assert.ErrorContains(t, calls.err, "ulimit -n")
	assert.True(t, mongo.IsNetworkError(calls.err))
	var labeled mongo.LabeledError
	if assert.ErrorAs(t, calls.err, &labeled) {
		assert.False(t, labeled.HasErrorLabel("SystemOverloadedError"))
		assert.False(t, labeled.HasErrorLabel("RetryableError"))
	}
	for server, withheld := range client.ThrottleProbabilities() {
		assert.Zero(t, withheld, server)
	}
	if tokens, limited := client.RetryTokens(); limited {
		assert.Equal(t, 1000.0, tokens)
	}
	assert.Zero(t, count(coll, warming, time.Second).failed)
}
