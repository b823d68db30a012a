package mongo

import (
	"context"
	"fmt"
	"io"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

var _ = noted("later-commands")

// severalCommands is a call of several commands.
type severalCommands struct {
	run      func(context.Context, *Collection) error
	commands int
	// cursor is the ID of the cursors that replies open; one that is not 0 has a getMore.
	cursor int64
	// hides is whether the error of the first command has no such label either.
	hides bool
}

// TestErrorsOfLaterCommands is about calls of several commands, each of which is rejected in turn. The error says that nothing was
// executed, and that the call can be made again, only if none of the commands before has changed anything. Reads change nothing.
func TestErrorsOfLaterCommands(t *testing.T) {
	model := IndexModel{Keys: bson.D{{Key: "x", Value: 1}}}
	withFields := options.CreateCollection().SetEncryptedFields(noFields)
	ofFields := options.DropCollection().SetEncryptedFields(noFields)
	testErrorsOfLaterCommands(t, map[string]severalCommands{
		"Drop of an encrypted collection":        {run: calling("Collection.Drop", ofFields), commands: 3},
		"CreateCollection with encrypted fields": {run: calling("Database.CreateCollection", "coll", withFields), commands: 4, hides: true},
		"CreateCollection":                       {run: calling("Database.CreateCollection", "coll"), commands: 1},
		"Collection.Drop":                        {run: calling("Collection.Drop"), commands: 1},
		"Database.Drop":                          {run: calling("Database.Drop"), commands: 1},
		"IndexView.CreateMany":                   {run: calling("IndexView.CreateMany", []IndexModel{model, model}), commands: 1},
		"IndexView.DropOne":                      {run: calling("IndexView.DropOne", "x_1"), commands: 1},
		"IndexView.DropAll":                      {run: calling("IndexView.DropAll"), commands: 1},
		"Cursor.All": {run: using(func(ctx context.Context, cursor *Cursor) error {
			var all []bson.Raw
			err := cursor.All(ctx, &all)
			if read := len(all); read != 2 && (err == nil || read != 1) {
				return fmt.Errorf("%d documents beside %v", read, err)
			}
			return err
		}), commands: 2, cursor: 7},
		"ListCollectionNames":          {run: calling("Database.ListCollectionNames", anything), commands: 2, cursor: 7},
		"ListCollectionSpecifications": {run: calling("Database.ListCollectionSpecifications", anything), commands: 2, cursor: 7},
		"IndexView.ListSpecifications": {run: calling("IndexView.ListSpecifications"), commands: 2, cursor: 7},
		"ListDatabaseNames":            {run: calling("Client.ListDatabaseNames", anything), commands: 1},
	})
}

// testErrorsOfLaterCommands tests calls, by their names.
func testErrorsOfLaterCommands(t *testing.T, calls map[string]severalCommands) {
	for name, tt := range calls {
		if !topics["iterators"] && (name == "Cursor.All" || name == "ListCollectionNames") {
			continue
		}
		for rejected := 0; rejected <= tt.commands; rejected++ {
			commands, changed := 0, false // before the one that is rejected
			s := scripted.New(t)
			s.Policy.MaxRetries = 0 // rejections are final, because CreateCollection holds a connection of its own during the others
			s.Rest = func(body bson.Raw) any {
				commands++
				command := body.Index(0).Key()
				if commands == rejected+1 {
					return scripted.Rejected()
				}
				changed = changed || writesSomething.MatchString(command) && commands <= rejected
				doc := bson.D{{Key: "name", Value: "x_1"}, {Key: "key", Value: bson.D{{Key: "x", Value: 1}}}, {Key: "v", Value: 2}}
				switch command {
				case "find", "listIndexes", "listCollections":
					if tt.cursor == 0 {
						return scripted.OK(firstBatch(0))
					}
					return scripted.OK(firstBatch(tt.cursor, doc))
				case "getMore":
					return scripted.OK(nextBatch(0, doc))
				case "listDatabases":
					return scripted.OK(bson.E{Key: "databases", Value: bson.A{}})
				}
				return scripted.OK(bson.E{Key: "n", Value: 1})
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
			assert.Equal(t, fmt.Sprint(tt.want) != fmt.Sprint(withoutLabel(tt.want, label)), errorHasLabel(later, label), "%T: %s", tt.err, label)
		}
	}
	assert.Equal(t, io.EOF, ofLaterCommand(io.EOF))
}

func withoutLabel(labels []string, label string) (kept []string) {
	for _, l := range labels {
		if l != label {
			kept = append(kept, l)
		}
	}
	return kept
}

// TestEncryptedFieldsThatCannotBeEncoded is about Drop, which sends nothing then.
func TestEncryptedFieldsThatCannotBeEncoded(t *testing.T) {
	s := scripted.New(t)
	assert.ErrorContains(t, scriptColl(t, s).Drop(bgCtx,
		options.DropCollection().SetEncryptedFields(bson.D{{Key: "fields", Value: make(chan int)}})), "encrypted fields: ")
	assert.Empty(t, s.Sent)
}
