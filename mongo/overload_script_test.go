package mongo

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// connectScript returns a client whose deployment is the script.
func connectScript(t *testing.T, s *scripted.Script, opts ...*options.ClientOptions) *Client {
	t.Helper()

	deployment := options.Client()
	deployment.Deployment = s
	client, err := Connect(append(opts, deployment)...)
	require.NoError(t, err)
	return client
}

// commandNames returns the names of the commands that came to the servers.
func commandNames(t *testing.T, s *scripted.Script) []string {
	t.Helper()

	var names []string
	for _, sent := range s.Sent {
		elements, err := sent.Command.Elements()
		require.NoError(t, err)
		names = append(names, elements[0].Key())
	}
	return names
}
