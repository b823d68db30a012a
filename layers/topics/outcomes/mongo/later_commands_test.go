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
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// severalCommands is a call of several commands.
type severalCommands struct {
	run      func(ctx context.Context, db *Database) error
	commands int
	// cursor is the ID of the cursors that replies open; one that is not 0 has a getMore.
	cursor int64
	// hides is whether the error of the first command has no such label either.
	hides bool
}

// TestErrorsOfLaterCommands is about calls of several commands, each of which is rejected in turn. The error says that nothing was
// executed, and that the call can be made again, only if none of the commands before has changed anything. Reads change nothing.
func TestErrorsOfLaterCommands(t *testing.T) {
	encrypted := bson.D{{Key: "fields", Value: bson.A{}}}
	model := IndexModel{Keys: bson.D{{Key: "x", Value: 1}}}
	testErrorsOfLaterCommands(t, map[string]severalCommands{
		"Drop of an encrypted collection": {run: func(ctx context.Context, db *Database) error {
			return db.Collection("coll").Drop(ctx, options.DropCollection().SetEncryptedFields(encrypted))
		}, commands: 3},
		"CreateCollection with encrypted fields": {run: func(ctx context.Context, db *Database) error {
			return db.CreateCollection(ctx, "coll", options.CreateCollection().SetEncryptedFields(encrypted))
		}, commands: 4, hides: true},
		"CreateCollection": {run: func(ctx context.Context, db *Database) error { return db.CreateCollection(ctx, "coll") }, commands: 1},
		"Collection.Drop":  {run: func(ctx context.Context, db *Database) error { return db.Collection("coll").Drop(ctx) }, commands: 1},
		"Database.Drop":    {run: func(ctx context.Context, db *Database) error { return db.Drop(ctx) }, commands: 1},
		"IndexView.CreateMany": {run: func(ctx context.Context, db *Database) error {
			_, err := db.Collection("coll").Indexes().CreateMany(ctx, []IndexModel{model, model})
			return err
		}, commands: 1},
		"IndexView.DropOne": {run: func(ctx context.Context, db *Database) error {
			return db.Collection("coll").Indexes().DropOne(ctx, "x_1")
		}, commands: 1},
		"IndexView.DropAll": {run: func(ctx context.Context, db *Database) error {
			return db.Collection("coll").Indexes().DropAll(ctx)
		}, commands: 1},
		"Cursor.All": {run: func(ctx context.Context, db *Database) error {
			cursor, err := db.Collection("coll").Find(ctx, anything)
			if err != nil {
				return err
			}
			var all []bson.Raw
			err = cursor.All(ctx, &all)
			if read := len(all); read != 2 && (err == nil || read != 1) {
				return fmt.Errorf("%d documents beside %v", read, err)
			}
			return err
		}, commands: 2, cursor: 7},
		"ListCollectionNames": {run: func(ctx context.Context, db *Database) error {
			_, err := db.ListCollectionNames(ctx, anything)
			return err
		}, commands: 2, cursor: 7},
		"ListCollectionSpecifications": {run: func(ctx context.Context, db *Database) error {
			_, err := db.ListCollectionSpecifications(ctx, anything)
			return err
		}, commands: 2, cursor: 7},
		"IndexView.ListSpecifications": {run: func(ctx context.Context, db *Database) error {
			_, err := db.Collection("coll").Indexes().ListSpecifications(ctx)
			return err
		}, commands: 2, cursor: 7},
		"ListDatabaseNames": {run: func(ctx context.Context, db *Database) error {
			_, err := db.Client().ListDatabaseNames(ctx, anything)
			return err
		}, commands: 1},
	})
}

// testErrorsOfLaterCommands tests calls, by their names.
func testErrorsOfLaterCommands(t *testing.T, calls map[string]severalCommands) {
	changes := map[string]bool{
		"drop": true, "create": true, "createIndexes": true, "dropIndexes": true, "delete": true, "update": true, "insert": true,
		"dropDatabase": true,
	}
	for name, tt := range calls {
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
				changed = changed || changes[command] && commands <= rejected
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
			err := tt.run(context.Background(), connectScript(t, s).Database("db"))
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

// TestBulkOutcomeOfOtherErrors is about errors that hold no outcome.
func TestBulkOutcomeOfOtherErrors(t *testing.T) {
	s := scripted.New(t)
	s.Rest = scripted.OK(concernError(64))
	coll := connectScript(t, s).Database("db").Collection("coll")
	_, err := coll.InsertMany(context.Background(), []any{anything, anything})
	var failed BulkWriteException
	require.True(t, errors.As(err, &failed), "%T", err)
	_, invalid := coll.InsertMany(context.Background(), []any{anything, make(chan int)})
	require.Error(t, invalid)

	for name, tt := range map[string]struct {
		err                              error
		done, failed, notExecuted, other int
	}{
		"none":                    {err: nil, done: 2},
		"wrapped":                 {err: fmt.Errorf("wrapped: %w", err), done: 2},
		"its text":                {err: fmt.Errorf("its text: %v", err), other: 2},
		"its fields":              {err: BulkWriteException{WriteConcernError: failed.WriteConcernError}, other: 2},
		"another":                 {err: errors.New("another"), other: 2},
		"what cannot be encoded":  {err: invalid, failed: 2},
		"a client that is closed": {err: ErrClientDisconnected, notExecuted: 2},
	} {
		outcome := BulkOutcome(tt.err, 2)
		assert.Len(t, outcome.Done, tt.done, name)
		assert.Len(t, outcome.Failed, tt.failed, name)
		assert.Len(t, outcome.NotExecuted, tt.notExecuted, name)
		assert.Len(t, outcome.Unknown, tt.other, name)
	}
}

// TestBulkWriteOfAModelThatCannotBeEncoded is about a call of which one command is rejected, and another cannot be built.
func TestBulkWriteOfAModelThatCannotBeEncoded(t *testing.T) {
	s := scripted.New(t)
	s.Rest = scripted.Rejected()
	_, err := connectScript(t, s).Database("db").Collection("coll").BulkWrite(context.Background(), []WriteModel{
		NewInsertOneModel().SetDocument(anything),
		NewUpdateOneModel().SetFilter(anything).SetUpdate(bson.D{{Key: "$set", Value: make(chan int)}}),
	}, options.BulkWrite().SetOrdered(false))
	var failed BulkWriteException
	require.True(t, errors.As(err, &failed), "%T", err)
	var marshaling MarshalError
	assert.True(t, errors.As(err, &marshaling) && marshaling.Value != nil, "%v", err)
	assert.True(t, failed.HasErrorLabel(driver.ErrSystemOverloadedError))
	outcome := BulkOutcome(err, 2)
	assert.Equal(t, []int{0}, outcome.NotExecuted)
	assert.Error(t, outcome.Failed[1])
}

// TestBulkWriteExceptionsAgree is about the methods of an exception of two commands: one misses its write concern, the next fails.
func TestBulkWriteExceptionsAgree(t *testing.T) {
	failure := bson.D{{Key: "ok", Value: 0}, {Key: "code", Value: 13}, {Key: "errmsg", Value: "unauthorized"}}
	s := scripted.New(t, scripted.OK(concernError(64)), scripted.OK(concernError(79)), failure)
	coll := connectScript(t, s).Database("db").Collection("coll")
	docs := make([]any, 3*scripted.MaxBatchCount)
	for i := range docs {
		docs[i] = anything
	}
	_, err := coll.InsertMany(context.Background(), docs)
	failed, ok := err.(BulkWriteException)
	require.True(t, ok, "%T", err)
	message := failed.WriteConcernErrors[0].Message
	for code, text := range map[int]string{64: message, 79: failed.WriteConcernErrors[1].Message, 13: "unauthorized"} {
		assert.True(t, failed.HasErrorCode(code), "%d", code)
		assert.True(t, failed.HasErrorMessage(text), "%d", code)
		assert.True(t, failed.HasErrorCodeWithMessage(code, text), "%d", code)
		assert.False(t, failed.HasErrorCodeWithMessage(code, "of no error"), "%d", code)
	}
}

// TestClientBulkWriteRepliesThatDisagree is about replies whose number of errors is not that of the results, or that are of other types.
func TestClientBulkWriteRepliesThatDisagree(t *testing.T) {
	duplicate := resultOf(int32(0), 0)
	for name, tt := range map[string]struct {
		reply                 bson.D
		done, failed, unknown int
	}{
		"no number":       {scripted.OK(firstBatch(0, duplicate)), 1, 1, 0},
		"a larger number": {scripted.OK(firstBatch(0, duplicate), bson.E{Key: "nErrors", Value: int32(2)}), 0, 1, 1},
		"a text":          {scripted.OK(firstBatch(0), bson.E{Key: "nErrors", Value: "one"}), 0, 0, 2},
	} {
		s := scripted.New(t, tt.reply)
		_, err := connectScript(t, s).BulkWrite(context.Background(), inserts(2), options.ClientBulkWrite().SetOrdered(false))
		require.Error(t, err, name)
		outcome := BulkOutcome(err, 2)
		assert.Len(t, outcome.Done, tt.done, name)
		assert.Len(t, outcome.Failed, tt.failed, name)
		assert.Len(t, outcome.Unknown, tt.unknown, name)
		assert.NotContains(t, err.Error(), "-1", name)
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
		{ClientBulkWriteException{Labels: all}, all},
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

// TestClientBulkWriteOfNothing is about writes that are none: nothing is sent.
func TestClientBulkWriteOfNothing(t *testing.T) {
	client := connectScript(t, scripted.New(t))
	_, err := client.BulkWrite(context.Background(), nil)
	assert.ErrorIs(t, err, ErrEmptySlice)
	_, err = client.BulkWrite(context.Background(), append(inserts(1), ClientBulkWrite{Database: "db", Collection: "a"}))
	assert.ErrorIs(t, err, ErrNilDocument)
	assert.ErrorContains(t, err, "index 1")
}
