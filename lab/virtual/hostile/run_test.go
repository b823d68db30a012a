package hostile

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/version"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// with runs a call of another kind in the bubble of a test.
func with(t *testing.T, plan Plan, call func(context.Context, *mongo.Client) error) (findings []string) {
	calls["tried"] = call
	defer delete(calls, "tried")
	plan.Calls, plan.Offset = []Call{{Kind: "tried", Deadline: 5 * time.Second}}, -1
	synctest.Test(t, func(t *testing.T) { findings = Run(t, plan) })
	return findings
}

// TestHonest is about servers that do no harm: no rule is broken, and all calls succeed.
func TestHonest(t *testing.T) {
	for _, topology := range []string{"standalone", "replicaset:3", "sharded:2", "loadbalanced:1"} {
		for _, kind := range kinds {
			if kind == "insertOne/within" && topology == "standalone" {
				continue
			}
			// Upstream's client bulk write of two batches fails behind a load balancer.
			if kind == "clientBulkWriteMany" && topology == "loadbalanced:1" && !strings.Contains(version.Driver, "fork") {
				continue
			}
			findings := with(t, Plan{Topology: topology, Mechanism: "SCRAM-SHA-256"}, func(ctx context.Context, client *mongo.Client) error {
				err := do(ctx, client, kind)
				if err != nil {
					assert.ErrorIs(t, err, errUnjudged, "%s, %s", topology, kind)
				}
				return err
			})
			assert.Empty(t, findings, "%s, %s", topology, kind)
		}
	}
}

// TestRules breaks each of them.
func TestRules(t *testing.T) {
	for want, call := range map[string]func(context.Context, *mongo.Client) error{
		"panic: oh": func(context.Context, *mongo.Client) error { panic("oh") },
		"took 6s, its deadline": func(context.Context, *mongo.Client) error {
			time.Sleep(6 * time.Second)
			return io.EOF
		},
		"is a success, although": func(context.Context, *mongo.Client) error { return nil },
		"sessions in use": func(_ context.Context, client *mongo.Client) error {
			_, err := client.StartSession()
			return err
		},
		"bytes of memory": func(context.Context, *mongo.Client) error {
			_ = strings.Repeat("x", maxMemory+1)
			return io.EOF
		},
		" commands, at most": func(ctx context.Context, client *mongo.Client) error {
			for range 1000 {
				_ = client.Database("db").RunCommand(ctx, bson.D{{Key: "ping", Value: 1}})
			}
			return nil
		},
		"connections checked out": func(ctx context.Context, client *mongo.Client) error {
			_, err := client.Database("db").Collection("c").Find(ctx, bson.D{}, options.Find().SetBatchSize(2))
			return err
		},
	} {
		findings := with(t, Plan{Topology: "loadbalanced:1"}, call)
		assert.Contains(t, strings.Join(findings, "\n"), want)
	}
}

// TestAlerts is about TLS, which takes real time: a server sends an alert before, or after, the client's first message.
func TestAlerts(t *testing.T) {
	const deadline, grace = 300 * time.Millisecond, 5 * time.Second
	var trying sync.WaitGroup
	for alert := range 256 {
		if alert%3 > 0 && alert > 121 { // no alert of TLS
			continue
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				if alert%2 > 0 {
					_, _ = conn.Read(make([]byte, 1<<12))
				}
				_, _ = conn.Write([]byte{21, 3, 3, 0, 2, byte(1 + alert/2%2), byte(alert)})
				_ = conn.Close()
			}
		}()
		trying.Go(func() {
			defer listener.Close()
			client, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + listener.Addr().String() + "/?tls=true&tlsInsecure=true"))
			if !assert.NoError(t, err) {
				return
			}
			ctx, cancel := context.WithTimeout(context.Background(), deadline)
			defer cancel()
			start := time.Now()
			assert.Error(t, client.Database("db").Collection("c").FindOne(ctx, bson.D{}).Err(), "alert %d", alert)
			assert.Less(t, time.Since(start), deadline+grace, "alert %d", alert)
			assert.NoError(t, client.Disconnect(context.Background()))
			assert.Less(t, time.Since(start), deadline+2*grace, "alert %d", alert)
		})
	}
	trying.Wait()
}
