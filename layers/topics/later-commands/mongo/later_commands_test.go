package mongo

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

func init() { topics["later-commands"] = true }

// severalCommands is a call of several commands.
type severalCommands struct {
	run      func(context.Context, *Collection) error
	commands int
	// reads is whether the server has two batches of a cursor, or nothing.
	reads bool
	// hides is whether the error of the first command has no such label either.
	hides bool
}

// TestErrorsOfLaterCommands is about calls of several commands, each of which is rejected in turn. The error says that nothing was
// executed, and that the call can be made again, only if none of the commands before has changed anything. Reads change nothing. That the
// errors of the first commands keep their labels shows TestEveryOperationInEndlessOverload for methods of one command, too.
func TestErrorsOfLaterCommands(t *testing.T) {
	withFields := options.CreateCollection().SetEncryptedFields(noFields)
	ofFields := options.DropCollection().SetEncryptedFields(noFields)
	testErrorsOfLaterCommands(t, map[string]severalCommands{
		"Drop of an encrypted collection":        {run: calling("Collection.Drop", ofFields), commands: 3},
		"CreateCollection with encrypted fields": {run: calling("Database.CreateCollection", "coll", withFields), commands: 4, hides: true},
		"Cursor.All": {run: using(func(ctx context.Context, cursor *Cursor) error {
			var all []bson.Raw
			err := cursor.All(ctx, &all)
			if read := len(all); read != 2 && (err == nil || read != 1) {
				return fmt.Errorf("%d documents beside %v", read, err)
			}
			return err
		}), commands: 2, reads: true},
		"ListCollectionNames":          {run: calling("Database.ListCollectionNames", anything), commands: 2, reads: true},
		"ListCollectionSpecifications": {run: calling("Database.ListCollectionSpecifications", anything), commands: 2, reads: true},
		"IndexView.ListSpecifications": {run: calling("IndexView.ListSpecifications"), commands: 2, reads: true},
	})
}

// testErrorsOfLaterCommands tests calls, by their names.
func testErrorsOfLaterCommands(t *testing.T, calls map[string]severalCommands) {
	for name, tt := range calls {
		if !topics["iterators"] && (name == "Cursor.All" || name == "ListCollectionNames") {
			continue
		}
		for rejected := 0; rejected <= tt.commands; rejected++ {
			changed := false // before the one that is rejected
			s := scripted.New(t)
			s.Policy.MaxRetries = 0 // rejections are final, because CreateCollection holds a connection of its own during the others
			s.Rest = func(body bson.Raw) any {
				if len(s.Sent) == rejected+1 {
					return scripted.Rejected()
				}
				changed = changed || writesSomething.MatchString(body.Index(0).Key()) && len(s.Sent) <= rejected
				has := map[bool]string{true: "two batches", false: "nothing"}[tt.reads]
				return with(answering(body, has).(bson.D), "n", 1)
			}
			err := tt.run(bgCtx, scriptColl(t, s))
			if rejected == tt.commands {
				assert.NoError(t, err, "%s: it has more than %d commands", name, tt.commands)
				continue
			}
			require.True(t, errorHasLabel(err, driver.ErrSystemOverloadedError), "%s: command %d: %v", name, rejected, err)
			for _, label := range []string{driver.ErrRetryableError, driver.NoWritesPerformed} {
				assert.Equal(t, !changed && !tt.hides, errorHasLabel(err, label), "%s: command %d: %s", name, rejected, label)
			}
			assert.False(t, errorHasLabel(err, driver.RetryableWriteError), "%s: command %d", name, rejected)
			assert.ErrorContains(t, err, "scripted", "%s: command %d", name, rejected)
		}
	}
}

// TestLabelsOfLaterErrors is about the errors of later commands, of each type.
func TestLabelsOfLaterErrors(t *testing.T) {
	all := []string{"other", driver.RetryableWriteError, driver.ErrRetryableError, driver.NoWritesPerformed}
	network := append([]string{driver.NetworkError}, all...)
	for _, tt := range []struct {
		err  error
		want []string
	}{
		{CommandError{Labels: all}, []string{"other"}},
		{CommandError{Labels: network}, []string{driver.NetworkError, "other", driver.RetryableWriteError}},
		{WriteException{Labels: network}, []string{driver.NetworkError, "other"}},
		{BulkWriteException{Labels: all}, all},
		{fmt.Errorf("around: %w", CommandError{Labels: all, Message: "text"}), []string{"other"}},
	} {
		later := ofLaterCommand(tt.err)
		assert.Equal(t, tt.err.Error(), later.Error())
		for _, label := range network {
			assert.Equal(t, strings.Contains(fmt.Sprint(tt.want), label), errorHasLabel(later, label), "%T: %s", tt.err, label)
		}
	}
	assert.Equal(t, io.EOF, ofLaterCommand(io.EOF))
}

// TestEncryptedFieldsThatCannotBeEncoded is about Drop, which sends nothing then.
func TestEncryptedFieldsThatCannotBeEncoded(t *testing.T) {
	s := scripted.New(t)
	assert.ErrorContains(t, scriptColl(t, s).Drop(bgCtx,
		options.DropCollection().SetEncryptedFields(bson.D{{Key: "fields", Value: make(chan int)}})), "encrypted fields: ")
	assert.Error(t, scriptColl(t, s).Drop(bgCtx, options.DropCollection().SetEncryptedFields(bson.D{{Key: "escCollection", Value: 1}})))
	assert.Empty(t, s.Sent)
}
