package driver_test

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// TestSessionsBehindALoadBalancer is about services that do not say how long sessions last: a driver ignores that, so commands have a
// session, writes are retried, and explicit sessions and transactions work (load-balancers.md, "Session Support").
func TestSessionsBehindALoadBalancer(t *testing.T) {
	minutes := int64(30)
	for name, timeout := range map[string]*int64{"silent": nil, "says so": &minutes} {
		for _, kind := range []description.ServerKind{description.ServerKindMongos, description.ServerKindStandalone} {
			run := func(of func(*scripted.Script) driver.Operation, replies ...any) *scripted.Script {
				s := scripted.New(t, replies...)
				s.Topology = description.TopologyKindLoadBalanced
				s.Servers[0].Kind, s.Servers[0].SessionTimeoutMinutes = kind, timeout
				id := bson.NewObjectID()
				s.Servers[0].ServiceID = &id
				require.NoError(t, s.Execute(context.Background(), of(s)), "%s, %v", name, kind)
				for i, sent := range s.Sent {
					assert.NotEmpty(t, sent.Command.Lookup("lsid").Value, "%s, %v: command %d", name, kind, i)
				}
				return s
			}
			retried := run((*scripted.Script).Write, scripted.ShuttingDown(), scripted.OK())
			assert.Equal(t, []any{int64(1), int64(1)}, retried.Field("txnNumber"), "%s, %v", name, kind)
			explicit := func(s *scripted.Script) driver.Operation {
				op := s.Read()
				op.Client = scripted.Session(t)
				return op
			}
			run(explicit, scripted.OK())
		}
	}
}
