package mongo

import (
	"context"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
)

// valuesOf returns all values of a field of a command.
func valuesOf(t *testing.T, command bson.Raw, name string) (values []bson.RawValue) {
	t.Helper()
	elements := must(command.Elements())(t)
	for _, element := range elements {
		if element.Key() == name {
			values = append(values, element.Value())
		}
	}
	return values
}

func inBackground(_ *Client, run func(context.Context) error) error { return run(bgCtx) }

// TestFieldsOfRunCommand is about all other fields that the driver appends to a command: what the application has put into the command
// itself, in a session's or the client's place, is sent twice. The comment of RunCommand leaves that undefined.
func TestFieldsOfRunCommand(t *testing.T) {
	api := options.Client().SetServerAPIOptions(options.ServerAPI(options.ServerAPIVersion1).SetStrict(true).SetDeprecationErrors(true))
	in := func(do func(*Session) error) func(*Client, func(context.Context) error) error {
		return func(client *Client, run func(context.Context) error) error {
			session := must(client.StartSession(options.Session().SetCausalConsistency(true)))(t)
			defer session.EndSession(bgCtx)
			require.NoError(t, do(session))
			return run(NewSessionContext(bgCtx, session))
		}
	}
	session := in(func(*Session) error { return nil })
	transaction := in(func(s *Session) error {
		return s.StartTransaction(options.Transaction().SetReadConcern(readconcern.Majority()))
	})
	clock := in(func(s *Session) error {
		at := bson.D{{Key: "$clusterTime", Value: bson.D{{Key: "clusterTime", Value: bson.Timestamp{T: 1}}}}}
		return s.AdvanceClusterTime(must(bson.Marshal(at))(t))
	})
	for _, tt := range []struct {
		fields string
		client *options.ClientOptions
		within func(*Client, func(context.Context) error) error
		want   int
	}{
		{"$db lsid $readPreference", options.Client(), inBackground, 2},
		{"$clusterTime apiVersion comment", options.Client(), inBackground, 1},
		{"lsid", options.Client(), session, 2},
		{"readConcern txnNumber", options.Client(), session, 1},
		{"$clusterTime", options.Client(), clock, 2},
		{"readConcern", options.Client().SetReadConcern(readconcern.Majority()), inBackground, 1},
		{"readConcern txnNumber startTransaction autocommit", options.Client(), transaction, 2},
		{"writeConcern", options.Client(), transaction, 1},
		{"apiVersion apiStrict apiDeprecationErrors", api, inBackground, 2},
	} {
		for _, field := range strings.Fields(tt.fields) {
			s := lasting(t, scripted.OK())
			client := connectScript(t, s, tt.client)
			preference := options.RunCmd()
			if field == "$readPreference" {
				preference.SetReadPreference(readpref.Nearest())
			}
			require.NoError(t, tt.within(client, func(ctx context.Context) error {
				return client.Database("db").RunCommand(ctx, bson.D{{Key: "ping", Value: 1}, {Key: field, Value: 1}}, preference).Err()
			}))
			assert.Len(t, valuesOf(t, s.Sent[0].Command, field), tt.want, "%s of %v", field, tt)
		}
	}
}

// TestGetMoreOfRunCommand is about the cursor of a command that the driver does not know: its getMore is retried only if reads and writes
// are.
func TestGetMoreOfRunCommand(t *testing.T) {
	for _, writes := range []bool{false, true} {
		s := lasting(t, scripted.OK(nextBatch(0, bson.D{})), emptyOpen, scripted.Overloaded())
		s.Policy.RetryWrites = writes
		cursor := must(connectScript(t, s).Database("db").RunCommandCursor(bgCtx, bson.D{{Key: "x", Value: 1}}))(t)
		assert.Equal(t, writes, cursor.Next(bgCtx), "%v", cursor.Err())
	}
}
