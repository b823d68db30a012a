package virtual

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// errAny is any error.
var errAny = errors.New("any error")

var errSource = errors.New("the source of the file fails")

// promise is what a call that closes or ends something does after a failure. ClientEncryption.Close is the Disconnect of a client.
type promise struct {
	name    string
	fails   []string // commands, whose connections are closed, until the call has returned
	ends    func(t *testing.T, client *mongo.Client, coll *mongo.Collection) func() error
	during  []error // what the calls return while the commands fail: nil, an error, or errAny
	left    remains // then
	after   []error // what further calls return
	settled remains // then
}

// remains are what there is on the servers.
type remains struct {
	cursors, transactions int
	files, chunks         int64
}

func (s remains) String() string {
	return fmt.Sprintf("%d cursors, %d transactions, %d files, %d chunks", s.cursors, s.transactions, s.files, s.chunks)
}

func remainsOf(t *testing.T, cluster *Cluster) (s remains) {
	t.Helper()
	s.cursors = cluster.Cursors()
	s.transactions, _ = cluster.Transactions()
	database := connect(t, cluster.Client()).Database("db")
	for name, n := range map[string]*int64{"fs.files": &s.files, "fs.chunks": &s.chunks} {
		var err error
		*n, err = database.Collection(name).CountDocuments(context.Background(), bson.D{})
		require.NoError(t, err)
	}
	return s
}

// upload opens an upload stream of chunks of half a buffer.
func upload(t *testing.T, coll *mongo.Collection) *mongo.GridFSUploadStream {
	t.Helper()
	stream, err := coll.Database().GridFSBucket().OpenUploadStreamWithID(context.Background(), 1, "u",
		options.GridFSUpload().SetChunkSizeBytes(bigChunk))
	require.NoError(t, err)
	return stream
}

// cutShort is the defer of a function whose Write fails.
func cutShort(_ *testing.T, stream *mongo.GridFSUploadStream) func() error {
	var failed error
	rest := make([]byte, uploadBuffer+1)
	return func() error {
		if failed == nil {
			var n int
			if n, failed = stream.Write(rest); failed == nil {
				return errors.New("Write has not failed")
			}
			rest = rest[n:]
		}
		if err := stream.Close(); !errors.Is(err, failed) && fmt.Sprint(err) != failed.Error() {
			return fmt.Errorf("Close returns %v instead of %w", err, failed)
		}
		return errAny
	}
}

var promises = []promise{
	{name: "Cursor.Close", fails: []string{"killCursors"}, during: []error{errAny, errAny}, left: remains{cursors: 1},
		after: []error{nil, nil},
		ends: func(t *testing.T, _ *mongo.Client, coll *mongo.Collection) func() error {
			cursor := batches(t, coll)
			return func() error { return cursor.Close(context.Background()) }
		}},
	{name: "ChangeStream.Close", fails: []string{"killCursors"}, during: []error{errAny, errAny}, left: remains{cursors: 1},
		after: []error{nil, nil},
		ends: func(t *testing.T, _ *mongo.Client, coll *mongo.Collection) func() error {
			stream := watch(t, coll)
			return func() error { return stream.Close(context.Background()) }
		}},
	{name: "GridFSDownloadStream.Close", fails: []string{"killCursors"}, during: []error{errAny, errAny},
		left: remains{cursors: 1, files: 1, chunks: 110}, after: []error{nil, mongo.ErrStreamClosed}, settled: remains{files: 1, chunks: 110},
		ends: func(t *testing.T, _ *mongo.Client, coll *mongo.Collection) func() error {
			stream, err := coll.Database().GridFSBucket().OpenDownloadStream(context.Background(), 1)
			require.NoError(t, err)
			return stream.Close
		}},
	{name: "GridFSUploadStream.Close", fails: []string{"insert"}, during: []error{errAny, errAny},
		after:   []error{nil, mongo.ErrStreamClosed},
		settled: remains{files: 1, chunks: 1},
		ends: func(t *testing.T, _ *mongo.Client, coll *mongo.Collection) func() error {
			stream := upload(t, coll)
			_, err := stream.Write([]byte("a file"))
			require.NoError(t, err)
			return stream.Close
		}},
	{name: "GridFSUploadStream.Close, after a Write that failed", fails: []string{"insert"}, during: []error{errAny, errAny},
		after: []error{errAny, errAny},
		ends: func(t *testing.T, _ *mongo.Client, coll *mongo.Collection) func() error {
			return cutShort(t, upload(t, coll))
		}},
	{name: "GridFSUploadStream.Abort", fails: []string{"delete"}, during: []error{errAny, errAny}, left: remains{chunks: 2},
		after: []error{nil, mongo.ErrStreamClosed},
		ends: func(t *testing.T, _ *mongo.Client, coll *mongo.Collection) func() error {
			stream := upload(t, coll)
			_, err := stream.Write(make([]byte, uploadBuffer))
			require.NoError(t, err)
			return stream.Abort
		}},
	{name: "GridFSBucket.UploadFromStream", fails: []string{"insert"}, during: []error{errAny}, after: []error{nil},
		settled: remains{files: 1, chunks: 1},
		ends: func(_ *testing.T, _ *mongo.Client, coll *mongo.Collection) func() error {
			return func() error {
				return errorOf(coll.Database().GridFSBucket().UploadFromStream(context.Background(), "u", strings.NewReader("a file")))
			}
		}},
	{name: "GridFSBucket.UploadFromStream, whose source fails", during: []error{errSource}, after: []error{errSource},
		ends: func(_ *testing.T, _ *mongo.Client, coll *mongo.Collection) func() error {
			return func() error {
				source := io.MultiReader(strings.NewReader("the beginning"), iotest.ErrReader(errSource))
				return errorOf(coll.Database().GridFSBucket().UploadFromStream(context.Background(), "u", source))
			}
		}},
	{name: "Session.AbortTransaction", fails: []string{"abortTransaction"}, during: []error{nil}, left: remains{transactions: 1},
		after: []error{errAny}, settled: remains{transactions: 1},
		ends: func(t *testing.T, client *mongo.Client, coll *mongo.Collection) func() error {
			session := transaction(t, client, coll)
			return func() error { return session.AbortTransaction(context.Background()) }
		}},
	{name: "Session.CommitTransaction", fails: []string{"commitTransaction"}, during: []error{errAny}, left: remains{transactions: 1},
		after: []error{nil, nil},
		ends: func(t *testing.T, client *mongo.Client, coll *mongo.Collection) func() error {
			session := transaction(t, client, coll)
			return func() error { return session.CommitTransaction(context.Background()) }
		}},
	{name: "Session.EndSession", fails: []string{"abortTransaction"}, during: []error{nil}, left: remains{transactions: 1},
		after:   []error{nil},
		settled: remains{transactions: 1},
		ends: func(t *testing.T, client *mongo.Client, coll *mongo.Collection) func() error {
			session := transaction(t, client, coll)
			return func() error { session.EndSession(context.Background()); return nil }
		}},
	{name: "Client.Disconnect", fails: []string{"endSessions"}, during: []error{nil, mongo.ErrClientDisconnected},
		after: []error{mongo.ErrClientDisconnected},
		ends: func(t *testing.T, client *mongo.Client, _ *mongo.Collection) func() error {
			useSessions(t, client, 1)
			return func() error { return client.Disconnect(context.Background()) }
		}},
}

// transaction begins one.
func transaction(t *testing.T, client *mongo.Client, coll *mongo.Collection) *mongo.Session {
	t.Helper()
	session, err := client.StartSession()
	require.NoError(t, err)
	require.NoError(t, session.StartTransaction())
	_, err = coll.InsertOne(mongo.NewSessionContext(context.Background(), session), bson.D{})
	require.NoError(t, err)
	return session
}

// TestCloseAfterFailure is about what each call that closes or ends something promises if it fails, or what came before it has failed.
func TestCloseAfterFailure(t *testing.T) {
	for _, p := range promises {
		virtually(t, p.name, func(t *testing.T) {
			cluster := New(t, Options{Topology: "replicaset:1"})
			if strings.Contains(p.name, "Download") {
				fill(cluster, p.name)
			}
			fill(cluster, "")
			client := connect(t, cluster.Client())
			end := p.ends(t, client, client.Database("db").Collection("c"))
			expect := func(want []error, when string) {
				for _, one := range want {
					err := end()
					assert.Equal(t, one != nil, err != nil, "%s: %v", when, err)
					if one != errAny {
						assert.ErrorIs(t, err, one, when)
					}
				}
			}
			cluster.Intercept(func(c Command, run func() bson.Raw) bson.Raw {
				if slices.Contains(p.fails, c.Name) {
					return nil
				}
				return run()
			})
			expect(p.during, "while commands fail")
			cluster.Intercept(nil)
			assert.Equal(t, p.left, remainsOf(t, cluster))
			expect(p.after, "afterwards")
			assert.Equal(t, p.settled, remainsOf(t, cluster))
		})
	}
}
