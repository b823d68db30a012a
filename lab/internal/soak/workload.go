package soak

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	// pace is a worker's wait between two operations. It keeps a slow backend from being the bottleneck.
	pace = 10 * time.Millisecond
	// readWindow is the number of latest numbers that a reader reads.
	readWindow = 400
	// readBatch is the batch size of the readers, small for many getMore commands.
	readBatch = 50
)

// worker does one kind of operation, over and over.
type worker struct {
	name     string
	client   *mongo.Client
	database string
	pace     time.Duration
	report   *Report
	stream   *stream
	calls    int64
}

// record is the document that workers write.
type record struct {
	Worker string `bson:"worker"`
	N      int64  `bson:"n"`
}

// total counts a worker's operations.
type total struct {
	ID    string `bson:"_id"`
	Value int64  `bson:"value"`
}

func (w *worker) collection(name string) *mongo.Collection {
	return w.client.Database(w.database).Collection(name)
}

// comment returns a comment that no operation had before.
func (w *worker) comment() string {
	w.calls++
	return fmt.Sprintf("%s %d", w.name, w.calls)
}

// repeat runs an operation until the context ends. The operation itself is not interrupted: a context with a deadline
// would put the driver's retries under a client-side timeout.
func (w *worker) repeat(ctx context.Context, kind string, operate func(context.Context) error) {
	ticker := time.NewTicker(w.pace)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			w.report.operation(kind, operate(context.WithoutCancel(ctx)))
		}
	}
}

// inserter inserts documents in a session, whose time others may join.
type inserter struct {
	worker
	session *mongo.Session

	mu          sync.Mutex
	clusterTime bson.Raw        // of the last insert that was acknowledged; nil before
	optime      *bson.Timestamp // the same
}

// insert inserts a document with the next number.
func (w *inserter) insert(ctx context.Context) error {
	n := w.stream.next()
	_, err := w.collection("inserts").InsertOne(mongo.NewSessionContext(ctx, w.session), record{w.name, n},
		options.InsertOne().SetComment(w.comment()))
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stream.acknowledge(n)
	w.clusterTime, w.optime = w.session.ClusterTime(), w.session.OperationTime()
	return nil
}

// join returns the numbers of the acknowledged inserts, after it has advanced a session to the time of the last.
func (w *inserter) join(session *mongo.Session) (acknowledged map[int64]bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, acknowledged = w.stream.snapshot()
	if w.clusterTime != nil {
		err = session.AdvanceClusterTime(w.clusterTime)
	}
	if w.optime != nil && err == nil {
		err = session.AdvanceOperationTime(w.optime)
	}
	return acknowledged, err
}

// push appends the next number to an array, where an update that is done twice shows.
func (w *worker) push(ctx context.Context) error {
	n := w.stream.next()
	_, err := w.collection("updates").UpdateByID(ctx, w.name, bson.D{{Key: "$push", Value: bson.D{{Key: "n", Value: n}}}},
		options.UpdateOne().SetUpsert(true).SetComment(w.comment()))
	if err == nil {
		w.stream.acknowledge(n)
	}
	return err
}

// transact inserts a document with the next number and counts it, both or neither.
func (w *worker) transact(ctx context.Context) error {
	n := w.stream.next()
	session, err := w.client.StartSession()
	if err != nil {
		return err
	}
	defer session.EndSession(ctx)
	_, err = session.WithTransaction(ctx, func(ctx context.Context) (any, error) {
		if _, err := w.collection("entries").InsertOne(ctx, record{w.name, n},
			options.InsertOne().SetComment(w.comment())); err != nil {
			return nil, err
		}
		return w.collection("totals").UpdateByID(ctx, w.name, bson.D{{Key: "$inc", Value: bson.D{{Key: "value", Value: 1}}}},
			options.UpdateOne().SetUpsert(true).SetComment(w.comment()))
	})
	if err == nil {
		w.stream.acknowledge(n)
	}
	return err
}

// reader reads what a writer inserted.
type reader struct {
	worker
	writer *inserter
}

// read reads the writer's last inserts, in order. Everything acknowledged before has to be there, and nothing twice. Its session
// is as late as the writer's, because a former primary that knows less may answer, too.
func (r *reader) read(ctx context.Context) error {
	session, err := r.client.StartSession()
	if err != nil {
		return err
	}
	defer session.EndSession(ctx)
	acknowledged, err := r.writer.join(session)
	if err != nil {
		return err
	}
	ctx = mongo.NewSessionContext(ctx, session)
	attempted, _ := r.writer.stream.snapshot()
	first := attempted - readWindow
	maps.DeleteFunc(acknowledged, func(n int64, _ bool) bool { return n < first })
	cursor, err := r.collection("inserts").Find(ctx,
		bson.D{{Key: "worker", Value: r.writer.name}, {Key: "n", Value: bson.D{{Key: "$gte", Value: first}}}},
		options.Find().SetSort(bson.D{{Key: "n", Value: 1}}).SetBatchSize(readBatch).SetComment(r.comment()))
	if err != nil {
		return err
	}
	defer cursor.Close(ctx)
	var last int64
	for cursor.Next(ctx) {
		var found record
		if err := cursor.Decode(&found); err != nil {
			return err
		}
		if found.N <= last {
			r.report.violation("cursors that repeat themselves", "%s: %d after %d", r.writer.name, found.N, last)
		}
		last = found.N
		delete(acknowledged, found.N)
	}
	if err := cursor.Err(); err != nil {
		return err
	}
	for n := range acknowledged {
		r.report.violation("cursors that lack an acknowledged write", "%s %d", r.writer.name, n)
	}
	return nil
}
