package mongo

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/overloadtest"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// connectScript returns a client whose deployment is the script.
func connectScript(t *testing.T, s *overloadtest.Script, opts ...*options.ClientOptions) *Client {
	t.Helper()

	scripted := options.Client()
	scripted.Deployment = s
	client, err := Connect(append(opts, scripted)...)
	require.NoError(t, err)
	return client
}
