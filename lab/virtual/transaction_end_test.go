package virtual

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

var errNotCommitted = errors.New("not to be committed")

// TestEndWithoutAnswer is about WithTransaction and an abort or a commit that is never answered. A commit has what is left of the deadline or
// the Timeout, an abort has that time anew (client-side-operations-timeout.md, "Convenient Transactions API"); after a cancellation an abort
// has 2 seconds, whatever else limits the call, and without any limit 10 seconds.
func TestEndWithoutAnswer(t *testing.T) {
	for _, tt := range []struct {
		commits           bool
		deadline, timeout time.Duration
		cancelled         bool
		before            time.Duration // that the callback takes
		takes             time.Duration
	}{
		{takes: 10 * time.Second},
		{before: 3 * time.Second, takes: 13 * time.Second},
		{cancelled: true, takes: cleanUp},
		{deadline: time.Minute, cancelled: true, takes: cleanUp},
		{timeout: time.Minute, cancelled: true, takes: cleanUp},
		{deadline: time.Second, takes: cleanUp},
		{deadline: 5 * time.Second, takes: 5 * time.Second},
		{timeout: 5 * time.Second, takes: 5 * time.Second},
		{deadline: 5 * time.Second, timeout: 5 * time.Second, takes: 5 * time.Second},
		{deadline: 5 * time.Second, before: 3 * time.Second, takes: 8 * time.Second},
		{deadline: 5 * time.Second, before: 6 * time.Second, takes: 11 * time.Second},
		{timeout: 5 * time.Second, before: 3 * time.Second, takes: 8 * time.Second},
		{commits: true, deadline: 5 * time.Second, takes: 5 * time.Second},
		{commits: true, timeout: 5 * time.Second, takes: 5 * time.Second},
		{commits: true, deadline: 5 * time.Second, timeout: 5 * time.Second, takes: 5 * time.Second},
	} {
		for _, topology := range []string{"replicaset:1", "loadbalanced:1"} {
			virtually(t, fmt.Sprintf("%+v/%s", tt, topology), func(t *testing.T) {
				cluster := New(t, Options{Topology: topology})
				opts, ctx := cluster.Client(), context.Background()
				if tt.deadline > 0 {
					ctx = limited(t, opts, byDeadline, tt.deadline)
				}
				if tt.timeout > 0 {
					limited(t, opts, byTimeout, tt.timeout)
				}
				out := out(opts)
				client := connect(t, opts)
				proceed := held(cluster, func(c Command) bool { return c.Name == "abortTransaction" || c.Name == "commitTransaction" })
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				start := time.Now()
				err := client.UseSession(ctx, func(ctx context.Context) error {
					return errorOf(mongo.SessionFromContext(ctx).WithTransaction(ctx, func(ctx context.Context) (any, error) {
						_, err := client.Database("db").Collection("c").InsertOne(ctx, bson.D{})
						require.NoError(t, err)
						time.Sleep(tt.before)
						if tt.cancelled {
							cancel()
						}
						if tt.commits {
							return nil, nil
						}
						return nil, errNotCommitted
					}))
				})
				assert.Equal(t, tt.takes, time.Since(start).Round(10*time.Millisecond))
				assert.Equal(t, !tt.commits, errors.Is(err, errNotCommitted), "%v", err)
				assert.Equal(t, tt.commits, mongo.IsTimeout(err), "%v", err)
				proceed()
				time.Sleep(time.Minute)
				assert.Zero(t, out.Load(), "connections are out")
			})
		}
	}
}
