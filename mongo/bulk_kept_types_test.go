package mongo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// writeOf makes a call of bulkCalls, or an InsertOne.
func insertNumbered(ctx context.Context, coll *Collection) error {
	_, err := coll.InsertOne(ctx, numbered(0))
	return err
}

// TestBulkCallsKeepTypes is about calls of which nothing was executed, because their first or only command failed with something that is no
// CommandError: the error is of the same type as that of an InsertOne, and wraps the same.
func TestBulkCallsKeepTypes(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for name, tt := range map[string]struct {
		reply  any
		ctx    context.Context
		before func(*Client)
		is     error
		// exception is whether a command of the call was sent, so that its error says more.
	}{
		"no server":     {reply: scripted.NoServer{Err: io.EOF}, is: io.EOF},
		"no connection": {reply: scripted.NoConnection{Err: io.ErrNoProgress}, is: io.ErrNoProgress},
		"cleared pool":  {reply: scripted.PoolCleared{}},
		"cancelled":     {ctx: ended, is: context.Canceled},
		"disconnected":  {before: func(c *Client) { _ = c.Disconnect(context.Background()) }, is: ErrClientDisconnected},
		"old storage engine": {reply: bson.D{{Key: "ok", Value: 0}, {Key: "code", Value: 20},
			{Key: "errmsg", Value: "Transaction numbers are only allowed on a replica set member or mongos"}},
			is: driver.ErrUnsupportedStorageEngine},
	} {
		for _, commands := range []int{1, 2} {
			for _, ordered := range []bool{true, false} {
				run := func(call func(context.Context, *Collection) error) error {
					s := scripted.New(t)
					s.Rest = tt.reply
					client := connectScript(t, s)
					ctx := tt.ctx
					if ctx == nil {
						ctx = context.Background()
					} else {
						s.OnSelect = ctx.Err
					}
					if tt.before != nil {
						tt.before(client)
					}
					return call(ctx, client.Database("db").Collection("coll"))
				}
				want := run(insertNumbered)
				require.Error(t, want, name)
				for _, call := range bulkCalls {
					if call.name == "BulkWrite of three kinds" {
						continue // it has several operations, which all fail
					}
					writes := commands * scripted.MaxBatchCount
					got := run(func(ctx context.Context, coll *Collection) error {
						_, err := call.run(ctx, coll, writes, ordered)
						return err
					})
					of := fmt.Sprintf("%s: %s of %d commands, ordered %v: %v", name, call.name, commands, ordered, got)
					assert.Equal(t, fmt.Sprintf("%T", want), fmt.Sprintf("%T", got), "%s", of)
					assert.True(t, tt.is == nil || errors.Is(got, tt.is) && errors.Is(want, tt.is), "%s", of)
				}
			}
		}
	}
}

// TestUnacknowledgedBulkCalls is about calls whose write concern is 0: they return no error, the result counts nothing that no server has
// acknowledged, and says so. As before, of a call of one operation only the first command is sent.
func TestUnacknowledgedBulkCalls(t *testing.T) {
	for _, call := range bulkCalls {
		if call.name == "Client.BulkWrite, verbose" {
			continue // which has to be acknowledged
		}
		s := scripted.New(t)
		s.Rest = scripted.OK(bson.E{Key: "n", Value: 2})
		client := connectScript(t, s, options.Client().SetWriteConcern(writeconcern.Unacknowledged()))
		result, err := call.run(context.Background(), client.Database("db").Collection("coll"), 6, false)
		t.Logf("%s: %+v %v %d", call.name, result, err, len(s.Sent))
	}
}
