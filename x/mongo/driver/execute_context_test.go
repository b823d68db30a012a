package driver_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// contexts collects what is given a context, by name, and whether that has a purpose.
type contexts map[string]bool

func (c contexts) see(ctx context.Context, name string) {
	p := backpressure.PurposeOf(ctx)
	c[name] = c[name] || p.Caller != nil || !p.Until.IsZero() || p.Grace > 0
}

// TestExecuteKeepsItsPurpose is about everything that Execute gives a context to: what runs there, such as a command of the
// application's own, is not for the operation's purpose.
func TestExecuteKeepsItsPurpose(t *testing.T) {
	seen := contexts{}
	s := scripted.New(t, scripted.Failure(391), scripted.Overloaded(), scripted.OK())
	s.OnContext = seen.see
	op := s.Read()
	op.Authenticator, op.Crypt = &reauthentications{see: seen.see}, &crypt{see: seen.see}
	op.ProcessResponseFn = func(ctx context.Context, _ bsoncore.Document, _ driver.ResponseInfo) error {
		seen.see(ctx, "ProcessResponseFn")
		return nil
	}
	op.CommandMonitor = &event.CommandMonitor{
		Started:   func(ctx context.Context, _ *event.CommandStartedEvent) { seen.see(ctx, "CommandMonitor.Started") },
		Succeeded: func(ctx context.Context, _ *event.CommandSucceededEvent) { seen.see(ctx, "CommandMonitor.Succeeded") },
		Failed:    func(ctx context.Context, _ *event.CommandFailedEvent) { seen.see(ctx, "CommandMonitor.Failed") },
	}
	caller, cancel := context.WithCancel(context.Background())
	defer cancel()
	purpose := backpressure.Purpose{Caller: caller, Until: s.Now().Add(time.Hour), Grace: time.Second}
	require.NoError(t, op.Execute(backpressure.WithPurpose(context.Background(), purpose)))

	assert.Equal(t, contexts{
		"ProcessResponseFn": false, "CommandMonitor.Started": false, "CommandMonitor.Succeeded": false, "CommandMonitor.Failed": false,
		"Deployment.SelectServer": false, "Server.Connection": false, "Connection.Write": false, "Connection.Read": false,
		"Authenticator.Reauth": false, "Crypt.Encrypt": false, "Crypt.Decrypt": false,
	}, seen)
}

// TestExecuteGivesUpItsBuffer is about a large command that waits for its retry: it does not hold its wire message meanwhile.
func TestExecuteGivesUpItsBuffer(t *testing.T) {
	const size = 15 * 1000 * 1000
	s := scripted.New(t, scripted.Overloaded(), scripted.OK())
	doc, err := bson.Marshal(bson.D{{Key: "x", Value: make([]byte, size)}})
	require.NoError(t, err)
	op := s.Read()
	op.CommandFn = func(dst []byte, _ description.SelectedServer) ([]byte, error) {
		return bsoncore.AppendDocumentElement(dst, "anything", doc), nil
	}
	before, waiting := heap(), uint64(0)
	s.OnSleep = func() {
		s.Sent = nil
		waiting = heap()
	}
	require.NoError(t, s.Execute(context.Background(), op))
	assert.True(t, waiting < before+size/2, "%d bytes before, %d during the backoff", before, waiting)
	assert.Len(t, doc, size+13)
}

// heap returns how many bytes are in use. A sync.Pool gives up its contents in the second garbage collection.
func heap() uint64 {
	var stats runtime.MemStats
	for i := 0; i < 3; i++ {
		runtime.GC()
	}
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
