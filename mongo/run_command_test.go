package mongo

import (
	"context"
	"fmt"
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
			return client.UseSessionWithOptions(bgCtx, options.Session().SetCausalConsistency(true), func(ctx context.Context) error {
				if err := do(SessionFromContext(ctx)); err != nil {
					return err
				}
				return run(ctx)
			})
		}
	}
	session := in(func(*Session) error { return nil })
	transaction := in(func(s *Session) error {
		return s.StartTransaction(options.Transaction().SetReadConcern(readconcern.Majority()))
	})
	clock := in(func(s *Session) error {
		at, err := bson.Marshal(bson.D{{Key: "$clusterTime", Value: bson.D{{Key: "clusterTime", Value: bson.Timestamp{T: 1}}}}})
		if err != nil {
			return err
		}
		return s.AdvanceClusterTime(at)
	})
	for _, tt := range []struct {
		field  string
		client *options.ClientOptions
		within func(*Client, func(context.Context) error) error
		want   int
	}{
		{"$db", options.Client(), inBackground, 2},
		{"lsid", options.Client(), inBackground, 2},
		{"lsid", options.Client(), session, 2},
		{"$clusterTime", options.Client(), inBackground, 1},
		{"$clusterTime", options.Client(), clock, 2},
		{"$readPreference", options.Client(), inBackground, 2},
		{"readConcern", options.Client().SetReadConcern(readconcern.Majority()), inBackground, 1},
		{"readConcern", options.Client(), session, 1},
		{"readConcern", options.Client(), transaction, 2},
		{"writeConcern", options.Client(), transaction, 1},
		{"txnNumber", options.Client(), session, 1},
		{"txnNumber", options.Client(), transaction, 2},
		{"startTransaction", options.Client(), transaction, 2},
		{"autocommit", options.Client(), transaction, 2},
		{"apiVersion", options.Client(), inBackground, 1},
		{"apiVersion", api, inBackground, 2},
		{"apiStrict", api, inBackground, 2},
		{"apiDeprecationErrors", api, inBackground, 2},
		{"comment", options.Client(), inBackground, 1},
	} {
		s := lasting(t, scripted.OK())
		client := connectScript(t, s, tt.client)
		var preference options.Lister[options.RunCmdOptions] = options.RunCmd()
		if tt.field == "$readPreference" {
			preference = options.RunCmd().SetReadPreference(readpref.Nearest())
		}
		require.NoError(t, tt.within(client, func(ctx context.Context) error {
			return client.Database("db").RunCommand(ctx, bson.D{{Key: "ping", Value: 1}, {Key: tt.field, Value: 1}}, preference).Err()
		}))
		assert.Len(t, valuesOf(t, s.Sent[0].Command, tt.field), tt.want, fmt.Sprint(tt))
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
