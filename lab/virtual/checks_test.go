package virtual

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// TestServerIsFoundAgain: a client that has lost a server finds it again, whatever limits its checks.
func TestServerIsFoundAgain(t *testing.T) {
	for _, uri := range []string{"", "connectTimeoutMS=0", "connectTimeoutMS=0&serverMonitoringMode=poll"} {
		virtually(t, uri, func(t *testing.T) {
			cluster := New(t, Options{Topology: "sharded:1"})
			coll := connect(t, cluster.Client(uri)).Database("db").Collection("c")
			for range 3 {
				_, err := coll.InsertOne(context.Background(), bson.D{})
				require.NoError(t, err)
				time.Sleep(time.Minute)
				cluster.Stop(0)
				time.Sleep(time.Minute)
				cluster.Restart(0)
			}
		})
	}
}
