package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
)

// call is one call of an application's goroutine.
type call struct {
	*loan
	ctx   context.Context
	app   *application
	coll  *mongo.Collection
	shelf *shelf
}

// Sets without a primary run reads only.
var (
	reads  = []func(*call) error{(*call).findOne, (*call).find, (*call).watch}
	writes = []func(*call) error{(*call).insertOne, (*call).insertMany, (*call).update, (*call).modify, (*call).bulk,
		(*call).clientBulk, (*call).session}
)

// size returns the size of a document: most are small.
func (c *call) size() int {
	switch n := c.chance.IntN(1000); {
	case n < 2:
		return 3 << 20
	case n < 20:
		return 100_000
	case n < 200:
		return 5000
	}
	return c.chance.IntN(400)
}

// ask returns a filter that asks for n documents of a size.
func (c *call) ask(n int32) any {
	size := c.size()
	if n > 3 {
		size = min(size, 5000)
	}
	return c.doc("a filter", 10, d("docs", n), d("size", int32(size)))
}

// errWrong says that a call got what another one asked for.
var errWrong = errors.New("the reply belongs to another command")

// check looks at a document of a result, and keeps it.
func (c *call) check(what string, doc bson.Raw, i int32) error {
	c.shelf.keep(what, []byte(doc), false)
	nonce, _ := doc.Lookup("nonce").Int32OK()
	n, _ := doc.Lookup("i").Int32OK()
	_, padding := doc.Lookup("pad").Binary()
	if nonce != c.nonce || n != i || len(padding) > 0 && bytes.Count(padding, []byte{byte(nonce)}) != len(padding) {
		return fmt.Errorf("%w: %s %d of operation %d is %s", errWrong, what, i, c.nonce, brief(doc))
	}
	return nil
}

// number checks a number of a result.
func (c *call) number(what string, n, want int64) error {
	if n != want {
		return fmt.Errorf("%w: the number of %s is %d for operation %d, and not %d", errWrong, what, n, c.nonce, want)
	}
	return nil
}

// single checks a result that has one document.
func (c *call) single(what string, result *mongo.SingleResult) error {
	raw, err := result.Raw()
	if err != nil {
		return err
	}
	return c.check("the Raw of "+what, raw, 0)
}

func (c *call) findOne() error {
	return c.single("a FindOne", c.coll.FindOne(c.ctx, c.ask(1), lendOptions(c.loan, options.FindOne().SetComment("x"))))
}

// iterator is a cursor or a change stream.
type iterator interface {
	Next(context.Context) bool
	Err() error
	Close(context.Context) error
}

// drain reads n documents, which may not be all, and closes what they come from, which then must not be open at the server.
func (c *call) drain(it iterator, current *bson.Raw, what string, n int32) error {
	got, wrong := int32(0), error(nil)
	for ; wrong == nil && got < n && it.Next(c.ctx); got++ {
		wrong = c.check(what, *current, got)
	}
	if err := errors.Join(wrong, it.Err(), it.Close(context.Background())); err != nil {
		return err
	}
	if !c.app.servers.stormed.Load() && c.app.servers.open(c.nonce) {
		c.run.finding("left", "a cursor is open at the server although Close returned without an error")
	}
	return c.number("documents", int64(got), int64(n))
}

func (c *call) find() error {
	n := c.chance.Int32N(60) + 1
	opts := lendOptions(c.loan, options.Find().SetBatchSize(c.chance.Int32N(20)+1))
	cursor, err := c.coll.Find(c.ctx, c.ask(n), opts)
	if err != nil {
		return err
	}
	if c.chance.IntN(2) == 0 {
		return c.drain(cursor, &cursor.Current, "the Current of a cursor", c.chance.Int32N(n)+1)
	}
	var docs []bson.Raw
	if err := cursor.All(c.ctx, &docs); err != nil {
		return err
	}
	for i, doc := range docs {
		err = errors.Join(err, c.check("a Raw of All", doc, int32(i)))
	}
	return errors.Join(err, c.number("documents of All", int64(len(docs)), int64(n)))
}

func (c *call) watch() error {
	pipeline := mongo.Pipeline(lendAll(c.loan, "a pipeline", []bson.D{{d("$match", c.ask(4))}}))
	stream, err := c.coll.Watch(c.ctx, pipeline, lendOptions(c.loan, options.ChangeStream().SetBatchSize(2)))
	if err != nil {
		return err
	}
	defer func() { c.shelf.keep("a resume token", []byte(stream.ResumeToken()), false) }()
	return c.drain(stream, &stream.Current, "the Current of a change stream", 4)
}

func (c *call) insertOne() error {
	result, err := c.coll.InsertOne(c.ctx, c.doc("a document", c.size()))
	c.shelf.keep("the result of an InsertOne", result, false)
	return err
}

func (c *call) insertMany() error {
	docs := make([]any, c.chance.IntN(25)+1)
	for i := range docs {
		docs[i] = c.doc("a document", c.size()/4)
	}
	opts := lendOptions(c.loan, options.InsertMany().SetOrdered(c.chance.IntN(2) == 0))
	result, err := c.coll.InsertMany(c.ctx, lendAll(c.loan, "the slice of documents", docs), opts)
	if err != nil {
		return err
	}
	c.shelf.keep("the result of an InsertMany", result, false)
	return c.number("inserted documents", int64(len(result.InsertedIDs)), int64(len(docs)))
}

// change returns an update.
func (c *call) change() bson.D {
	return c.d("an update", bson.D{d("$set", bson.D{d("pad", pad(c.nonce, c.size()))})})
}

func (c *call) update() error {
	opts := lendOptions(c.loan, options.UpdateOne().SetUpsert(true))
	result, err := c.coll.UpdateOne(c.ctx, c.doc("a filter", 4, d("echo", int32(1))), c.change(), opts)
	if err != nil {
		return err
	}
	return c.number("updated documents", result.ModifiedCount, int64(c.nonce))
}

func (c *call) modify() error {
	return c.single("a FindOneAndUpdate", c.coll.FindOneAndUpdate(c.ctx, c.ask(1), c.change()))
}

// bulk writes models, which the application removes while the call runs: upstream has copied the list by then.
func (c *call) bulk() error {
	models := []mongo.WriteModel{nil}
	for range c.chance.IntN(6) + 1 {
		model := mongo.NewUpdateOneModel().SetFilter(c.doc("a filter", 4)).SetUpdate(c.change())
		if models = append(models, model); c.chance.IntN(6) > 0 {
			models[len(models)-1] = mongo.NewInsertOneModel().SetDocument(c.doc("a document", c.size()/4))
		}
	}
	models[0] = mongo.NewInsertOneModel().SetDocument(removing{bson.D{d("nonce", c.nonce)}, models[1:]})
	opts := lendOptions(c.loan, options.BulkWrite().SetOrdered(c.chance.IntN(3) > 0))
	result, err := c.coll.BulkWrite(c.ctx, models, opts)
	if err != nil {
		return err
	}
	return c.number("models of a bulk write", result.InsertedCount+result.MatchedCount, int64(len(models)))
}

func (c *call) clientBulk() error {
	var models []mongo.ClientBulkWrite
	for range c.chance.IntN(12) + 1 {
		model := mongo.NewClientInsertOneModel().SetDocument(c.doc("a document", c.size()/4))
		models = append(models, mongo.ClientBulkWrite{Database: "db", Collection: "c", Model: model})
	}
	result, err := c.app.BulkWrite(c.ctx, lendAll(c.loan, "the slice of models", models))
	if err != nil {
		return err
	}
	return c.number("models of a client bulk write", result.InsertedCount, int64(len(models)))
}

// several runs calls in a session.
func (c *call) several(ctx context.Context) error {
	one := *c
	one.ctx, one.coll = ctx, c.coll.Clone(options.Collection().SetReadPreference(readpref.Primary()))
	return errors.Join(one.insertOne(), one.findOne(), one.update())
}

// session runs causally consistent operations, in a transaction or without one.
func (c *call) session() error {
	primary := options.Transaction().SetReadPreference(readpref.Primary())
	session, err := c.app.StartSession(options.Session().SetDefaultTransactionOptions(primary))
	if err != nil {
		return err
	}
	defer session.EndSession(context.Background())
	if c.chance.IntN(2) == 0 {
		err = c.several(mongo.NewSessionContext(c.ctx, session))
	} else {
		_, err = session.WithTransaction(c.ctx, func(ctx context.Context) (any, error) { return nil, c.several(ctx) })
	}
	c.shelf.keep("a session's operation time", session.OperationTime(), true)
	c.shelf.keep("a session's cluster time", []byte(session.ClusterTime()), false)
	c.shelf.keep("a session's ID", []byte(session.ID()), false)
	return err
}

// span is the context of a call.
type span struct {
	context.Context
	end   context.CancelFunc // after the call
	free  bool               // nothing ends it during the call
	ended bool               // it had ended before the call
}

// own is a context of an application's own type.
type own struct {
	context.Context // whose values it has
	done            chan struct{}
}

func (o own) Done() <-chan struct{} { return o.done }

func (o own) Err() error {
	select {
	case <-o.done:
		return context.Canceled
	default:
		return nil
	}
}

// newContext returns a context of some form that can be cancelled.
func newContext(chance *rand.Rand) (context.Context, context.CancelFunc) {
	switch chance.IntN(4) {
	case 0:
		ctx := own{context.Background(), make(chan struct{})}
		return ctx, sync.OnceFunc(func() { close(ctx.done) })
	case 1:
		return context.WithTimeout(context.Background(), time.Hour)
	}
	above, cancel := context.WithCancel(context.Background())
	if chance.IntN(2) == 0 {
		return above, cancel
	}
	ctx, because := context.WithCancelCause(above) // which ends for a reason of its own
	context.AfterFunc(above, func() { because(errors.New("the application's own cause")) })
	return ctx, cancel
}

// newSpan returns a context, one in seven of which ends sooner than its call may. Others are cancelled once the call has returned, when
// another one has its connection, or never end.
func newSpan(chance *rand.Rand) span {
	ctx, cancel := newContext(chance)
	soon := time.Duration(chance.Int64N(int64(4 * time.Millisecond)))
	switch what := chance.IntN(35); {
	case what == 0:
		cancel()
		return span{ctx, cancel, false, true}
	case what == 1:
		ctx, stop := context.WithTimeout(ctx, soon)
		return span{ctx, func() { stop(); cancel() }, false, false}
	case what < 5:
		time.AfterFunc(soon, cancel)
		return span{ctx, cancel, false, false}
	case what < 10:
		cancel()
		return span{context.WithoutCancel(ctx), func() {}, true, false}
	}
	return span{ctx, cancel, true, false}
}
