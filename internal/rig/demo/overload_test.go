package demo

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/internal/rig/server"
)

// TestOverloadEndsInEveryCase checks on a real server that load is shed while
// something runs, of the right application, and not afterwards.
func TestOverloadEndsInEveryCase(t *testing.T) {
	t.Parallel()
	s, err := server.Open(t.Context(), server.Config{Root: "../../..", Progress: t.Output()})
	if errors.Is(err, server.ErrUnavailable) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) }) // after the clients have gone

	shop, other := find(t, s.URI, appName), find(t, s.URI, "somebody else")
	failure := errors.New("the shop burnt down")
	ctx, cancel := context.WithCancel(t.Context())
	for _, test := range []struct {
		name string
		ctx  context.Context
		end  func() error
		want error
	}{
		{"success", t.Context(), func() error { return nil }, nil},
		{"failure", t.Context(), func() error { return failure }, failure},
		{"interrupt", ctx, func() error { cancel(); return ctx.Err() }, context.Canceled},
	} {
		load, err := connectOverload(s.URI, []string{"SystemOverloadedError", "Custom"}, 1000)
		require.NoError(t, err)
		err = load.during(test.ctx, func(context.Context) error {
			require.NoError(t, other(), test.name)
			var rejected mongo.ServerError
			require.ErrorAs(t, shop(), &rejected, test.name)
			assert.True(t, rejected.HasErrorCode(overloadCode), test.name)
			assert.True(t, rejected.HasErrorLabel("Custom"), test.name)
			return test.end()
		})
		require.ErrorIs(t, err, test.want, test.name)
		require.NoError(t, shop(), test.name)
	}
}

// find returns a function that sends one find for an application.
func find(t *testing.T, uri, application string) func() error {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(uri).SetAppName(application))
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	return func() error {
		err := client.Database("rig_demo_test").Collection("c").FindOne(t.Context(), bson.D{}).Err()
		if errors.Is(err, mongo.ErrNoDocuments) {
			return nil
		}
		return err
	}
}
