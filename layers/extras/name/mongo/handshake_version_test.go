package mongo

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/version"
)

// The metadata names the fork before the versions of outer libraries, also where its limit of 512 bytes leaves room for little
// else (mongodb-handshake, "Limitations").
func TestHandshakeNamesTheFork(t *testing.T) {
	t.Setenv("AWS_EXECUTION_ENV", "AWS_Lambda_go")
	t.Setenv("AWS_REGION", strings.Repeat("r", 300))
	for name, library := range map[string]*options.DriverInfo{
		version.Driver:            nil,
		version.Driver + "|1.2.3": {Name: "odm", Version: "1.2.3", Platform: strings.Repeat("p", 300)},
	} {
		l := scripted.Listen(t, scripted.OK(), nil)
		opts := options.Client().ApplyURI(l.URI()).SetAppName(strings.Repeat("a", 128))
		if library != nil {
			opts.SetDriverInfo(library)
		}
		client := must(Connect(opts))(t)
		require.NoError(t, client.Ping(bgCtx, nil))
		require.NoError(t, client.Disconnect(bgCtx))

		handshakes := l.Handshakes()
		require.True(t, len(handshakes) > 0, "no handshake")
		for _, handshake := range handshakes {
			metadata := handshake.Lookup("client").Document()
			assert.True(t, len(metadata) <= 512, "%d bytes", len(metadata))
			got := metadata.Lookup("driver", "version").StringValue()
			assert.Equal(t, name, got)
			assert.True(t, strings.Contains(got, "-"+version.Fork), got)
		}
	}
}
