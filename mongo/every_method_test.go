package mongo

import (
	"reflect"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
)

// sendNothing are the exported methods that send no command.
var sendNothing = []string{
	"ChangeStream.Decode",
	"ChangeStream.Err",
	"ChangeStream.ID",
	"ChangeStream.RemainingBatchLength",
	"ChangeStream.ResumeToken",
	"ChangeStream.SetBatchSize",
	"Client.AppendDriverInfo",
	"Client.Database",
	"Client.NumberSessionsInProgress",
	"Client.RetryTokens",
	"Client.StartSession",
	"Client.ThrottleProbabilities",
	"Client.Timeout",
	"Collection.Clone",
	"Collection.Database",
	"Collection.Indexes",
	"Collection.Name",
	"Collection.SearchIndexes",
	"Cursor.Decode",
	"Cursor.Err",
	"Cursor.ID",
	"Cursor.RemainingBatchLength",
	"Cursor.SetBatchSize",
	"Cursor.SetComment",
	"Cursor.SetMaxAwaitTime",
	"Database.Client",
	"Database.Collection",
	"Database.GridFSBucket",
	"Database.Name",
	"Database.ReadConcern",
	"Database.ReadPreference",
	"Database.WriteConcern",
	"GridFSBucket.GetChunksCollection",
	"GridFSBucket.GetFilesCollection",
	"GridFSDownloadStream.GetFile",
	"Session.AdvanceClusterTime",
	"Session.AdvanceOperationTime",
	"Session.Client",
	"Session.ClusterTime",
	"Session.ID",
	"Session.OperationTime",
	"Session.SnapshotTime",
	"Session.StartTransaction",
	"Session.TransactionRunning",
	"SingleResult.Acknowledged",
	"SingleResult.Decode",
	"SingleResult.Err",
	"SingleResult.Raw",
}

// TestEveryMethodIsInTheTable fails for a method that is new.
func TestEveryMethodIsInTheTable(t *testing.T) {
	known := map[string]bool{}
	for _, name := range sendNothing {
		known[name] = true
	}
	for _, method := range sendingMethods() {
		known[method.name] = true
	}
	for _, receiver := range []any{
		&Client{}, &Database{}, &Collection{}, &Cursor{}, &ChangeStream{}, &Session{},
		IndexView{}, SearchIndexView{}, &GridFSBucket{},
		&GridFSUploadStream{}, &GridFSDownloadStream{}, &SingleResult{}, &ClientEncryption{},
	} {
		typ := reflect.TypeOf(receiver)
		name := typ.Name()
		if typ.Kind() == reflect.Pointer {
			name = typ.Elem().Name()
		}
		for i := 0; i < typ.NumMethod(); i++ {
			method := name + "." + typ.Method(i).Name
			assert.True(
				t,
				known[method],
				"%s is neither in the table of methods that send commands nor in the list of the others",
				method,
			)
		}
	}
}

// TestEveryOperationPaysForItsRetries: each takes a token.
func TestEveryOperationPaysForItsRetries(t *testing.T) {
	withBucket := func(s *scripted.Script) { s.Policy.Bucket = retry.NewTokenBucket() }
	inEndlessOverload(t, withBucket, func(t *testing.T, s *scripted.Script, _ sendingMethod, _ overloadEnding, _ error) {
		assert.InDelta(t, 1000-float64(len(s.Slept)), s.Policy.Bucket.Tokens(), 0.5)
	})
}
