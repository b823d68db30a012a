package mongo

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/overloadtest"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
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

func batch(name string, id int64, docs ...any) bson.E {
	return bson.E{Key: "cursor", Value: bson.D{
		{Key: "id", Value: id}, {Key: "ns", Value: "db.coll"}, {Key: name, Value: append(bson.A{}, docs...)},
	}}
}

func content() io.Reader { return bytes.NewReader([]byte("content")) }

// What tests write.
var (
	anything  = bson.D{}
	increment = bson.D{{Key: "$inc", Value: bson.D{{Key: "x", Value: 1}}}}
)

func assertOverloadError(t *testing.T, err error) {
	t.Helper()

	var labeled LabeledError
	require.True(t, errors.As(err, &labeled), "got %v", err)
	assert.True(t, labeled.HasErrorLabel(driver.ErrSystemOverloadedError))
	assert.True(t, labeled.HasErrorLabel(driver.ErrRetryableError))
}
