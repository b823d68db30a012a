//fork:base >=v2.10.0

package driver_test

import (
	"context"
	"fmt"
	"io"
	"testing"
	"testing/synctest"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/serverselector"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/drivertest"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
)

// refusing is a deployment whose server refuses some connections.
type refusing struct {
	*drivertest.MockDeployment
	labels       []string
	left, wanted int
}

func (r *refusing) SelectServer(context.Context, description.ServerSelector) (driver.Server, error) {
	return r, nil
}

func (r *refusing) Connection(ctx context.Context) (*mnet.Connection, error) {
	r.wanted++
	if r.left--; r.left >= 0 {
		return nil, driver.Error{Labels: r.labels, Wrapped: io.EOF}
	}
	return r.MockDeployment.Connection(ctx)
}

// A command whose connection is refused with the labels of overload is retried as a rejected one.
func TestOverloadOfConnections(t *testing.T) {
	labels := []string{driver.NetworkError, driver.ErrSystemOverloadedError, driver.ErrRetryableError}
	for _, tt := range []struct {
		name    string
		labels  []string
		refused int
		limit   uint
		want    int // connections
		fails   bool
	}{
		{name: "within the limit", labels: labels, refused: 2, limit: 2, want: 3},
		{name: "more than the limit", labels: labels, refused: 3, limit: 2, want: 3, fails: true},
		{name: "no retries", labels: labels, refused: 1, limit: 0, want: 1, fails: true},
		{name: "not retryable", labels: labels[:2], refused: 1, limit: 2, want: 1, fails: true},
		{name: "not overloaded", labels: labels[:1], refused: 1, limit: 2, want: 1, fails: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mock := drivertest.NewMockDeployment(bson.D{{"ok", 1}})
				server := &refusing{MockDeployment: mock, labels: tt.labels, left: tt.refused}
				err := driver.Operation{
					CommandFn: func(dst []byte, _ description.SelectedServer) ([]byte, error) {
						return bsoncore.AppendInt32Element(dst, "command", 1), nil
					},
					Database:           "db",
					Deployment:         server,
					MaxAdaptiveRetries: tt.limit,
				}.Execute(context.Background())
				assert.Equal(t, tt.fails, err != nil, "error %v", err)
				assert.Equal(t, tt.want, server.wanted, "connections")
			})
		})
	}
}

// A write that a server rejects for good is not retried because the server refused a connection before.
func TestOverloadOfConnectionsBeforeAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		labels := bson.A{driver.NoWritesPerformed}
		mock := drivertest.NewMockDeployment(bson.D{{"ok", 0}, {"code", 13}, {"errorLabels", labels}}, bson.D{{"ok", 1}})
		refusal := []string{driver.NetworkError, driver.ErrSystemOverloadedError, driver.ErrRetryableError}
		sent := 0
		assert.Error(t, driver.Operation{
			CommandFn: func(dst []byte, _ description.SelectedServer) ([]byte, error) {
				sent++
				return bsoncore.AppendInt32Element(dst, "insert", 1), nil
			},
			Database:           "db",
			Deployment:         &refusing{MockDeployment: mock, labels: refusal, left: 1},
			Type:               driver.Write,
			MaxAdaptiveRetries: 2,
		}.Execute(context.Background()))
		assert.Equal(t, 1, sent, "commands")
	})
}

// member is a server of a replica set.
type member struct {
	*refusing
	description.Server
}

// Description returns the server as it was selected.
func (m member) Description() description.SelectedServer {
	return description.SelectedServer{Server: m.Server}
}

// members is a deployment of servers of which the selected first one refuses a connection.
type members struct {
	*refusing
	selected []address.Address
}

func (m *members) SelectServer(_ context.Context, selector description.ServerSelector) (driver.Server, error) {
	suitable, err := selector.SelectServer(description.Topology{}, []description.Server{{Addr: "a"}, {Addr: "b"}})
	if err != nil {
		return nil, err
	}
	m.selected = append(m.selected, suitable[0].Addr)
	return member{refusing: m.refusing, Server: suitable[0]}, nil
}

// With enableOverloadRetargeting the retry goes to another server, if there is one.
func TestOverloadOfConnectionsRetargets(t *testing.T) {
	labels := []string{driver.NetworkError, driver.ErrSystemOverloadedError, driver.ErrRetryableError}
	for _, retarget := range []bool{false, true} {
		t.Run(fmt.Sprintf("enableOverloadRetargeting=%v", retarget), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mock := drivertest.NewMockDeployment(bson.D{{"ok", 1}})
				deployment := &members{refusing: &refusing{MockDeployment: mock, labels: labels, left: 1}}
				assert.NoError(t, driver.Operation{
					CommandFn: func(dst []byte, _ description.SelectedServer) ([]byte, error) {
						return bsoncore.AppendInt32Element(dst, "command", 1), nil
					},
					Database:   "db",
					Deployment: deployment,
					Selector: serverselector.Func(func(_ description.Topology, all []description.Server) ([]description.Server, error) {
						return all, nil
					}),
					MaxAdaptiveRetries:        2,
					EnableOverloadRetargeting: retarget,
				}.Execute(context.Background()))
				want := []address.Address{"a", "a"}
				if retarget {
					want[1] = "b"
				}
				assert.Equal(t, want, deployment.selected)
			})
		})
	}
}
