package parallel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// call is one call of an application's goroutine.
type call struct {
	*loan
	ctx     context.Context
	client  *mongo.Client
	coll    *mongo.Collection
	shelf   *shelf
	servers *servers
	// started, unless nil, is called once the driver says that it has started a command of the call.
	started func()
}

// errWrong says that a call got what another one asked for.
var errWrong = errors.New("the reply belongs to another command")

func d(key string, value any) bson.E { return bson.E{Key: key, Value: value} }

// kind is a kind of call. Sets without a primary run reads only.
type kind struct {
	name   string
	often  int
	writes bool
	run    func(*call) error
}

var kinds = []kind{
	{"findOne", 30, false, (*call).findOne},
	{"find", 8, false, (*call).find},
	{"all", 6, false, (*call).all},
	{"leave", 4, false, (*call).leaveCursor},
	{"aggregate", 5, false, (*call).aggregate},
	{"watch", 3, false, (*call).watch},
	{"count", 4, false, (*call).count},
	{"distinct", 4, false, (*call).distinct},
	{"command", 4, false, (*call).command},
	{"insertOne", 8, true, (*call).insertOne},
	{"insertMany", 6, true, (*call).insertMany},
	{"update", 8, true, (*call).update},
	{"delete", 4, true, (*call).delete},
	{"modify", 5, true, (*call).modify},
	{"bulk", 8, true, (*call).bulk},
	{"clientBulk", 4, true, (*call).clientBulk},
	{"transaction", 5, true, (*call).transaction},
	{"session", 4, true, (*call).session},
}

// pick returns a kind by chance.
func pick(chance *rand.Rand, writes bool) kind {
	for {
		n := chance.IntN(120)
		for _, k := range kinds {
			if n -= k.often; n < 0 && (writes || !k.writes) {
				return k
			} else if n < 0 {
				break
			}
		}
	}
}

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
func (c *call) ask(n int) any {
	size := c.size()
	if n > 3 {
		size = min(size, 5000)
	}
	return c.doc("a filter", 10, d("n", int32(n)), d("size", int32(size)))
}

// check looks at a document of a result, and keeps it.
func (c *call) check(what string, doc bson.Raw, i int32, err error) error {
	if err != nil {
		return err
	}
	c.shelf.keep(what, []byte(doc), false)
	nonce, _ := doc.Lookup("nonce").Int32OK()
	n, _ := doc.Lookup("i").Int32OK()
	_, padding := doc.Lookup("pad").Binary()
	if nonce != c.nonce || n != i || len(padding) > 0 && bytes.Count(padding, []byte{byte(nonce)}) != len(padding) {
		return fmt.Errorf("%w: %s %d of operation %d is %s", errWrong, what, i, c.nonce, brief(doc))
	}
	return nil
}

// number checks a number that has the nonce.
func (c *call) number(what string, n int64, err error) error {
	if err == nil && int32(n) != c.nonce {
		return fmt.Errorf("%w: %s of operation %d is %d", errWrong, what, c.nonce, n)
	}
	return err
}

// allOf counts what has to be all of a call's documents.
func (c *call) allOf(what string, n, want int, err error) error {
	if err == nil && n != want {
		return fmt.Errorf("%w: %d of %d %s", errWrong, n, want, what)
	}
	return err
}

// single checks a result that has one document.
func (c *call) single(what string, result *mongo.SingleResult) error {
	raw, err := result.Raw()
	return c.check("the Raw of "+what, raw, 0, err)
}

func (c *call) findOne() error {
	return c.single("a FindOne", c.coll.FindOne(c.ctx, c.ask(1), lendOptions(c.loan, options.FindOne().SetComment("x"))))
}

func (c *call) find() error {
	n := int32(c.chance.IntN(12) + 1)
	opts := lendOptions(c.loan, options.Find().SetBatchSize(int32(c.chance.IntN(5)+1)))
	cursor, err := c.coll.Find(c.ctx, c.ask(int(n)), opts)
	if err != nil {
		return err
	}
	return c.iterate(cursor, "the Current of a cursor", n)
}

// iterate reads a cursor to its end.
func (c *call) iterate(cursor *mongo.Cursor, what string, n int32) error {
	got := int32(0)
	for ; cursor.Next(c.ctx); got++ {
		if err := c.check(what, cursor.Current, got, nil); err != nil {
			return err
		}
	}
	return c.allOf("documents of a cursor", int(got), int(n), errors.Join(cursor.Err(), cursor.Close(context.Background())))
}

func (c *call) all() error {
	n := c.chance.IntN(200) + 1
	cursor, err := c.coll.Find(c.ctx, c.ask(n), lendOptions(c.loan, options.Find().SetBatchSize(60)))
	if err != nil {
		return err
	}
	var docs []bson.Raw
	err = cursor.All(c.ctx, &docs)
	if err := c.allOf("documents of All", len(docs), n, err); err != nil {
		return err
	}
	for i, doc := range docs {
		if err := c.check("a Raw of All", doc, int32(i), nil); err != nil {
			return err
		}
	}
	return nil
}

// leaveCursor closes a cursor before its end, which has to close it at the server, too.
func (c *call) leaveCursor() error {
	cursor, err := c.coll.Find(c.ctx, c.ask(9), lendOptions(c.loan, options.Find().SetBatchSize(2)))
	if err != nil {
		return err
	}
	cursor.Next(c.ctx)
	err = errors.Join(cursor.Err(), cursor.Close(context.Background()))
	if err == nil && !c.servers.stormed.Load() && c.servers.open(c.nonce) {
		c.run.finding("left", "a cursor is open at the server although Close returned without an error")
	}
	return err
}

func (c *call) aggregate() error {
	stages := lendAll(c.loan, "a pipeline", []any{bson.D{d("$match", c.ask(3))}}, false)
	cursor, err := c.coll.Aggregate(c.ctx, stages, lendOptions(c.loan, options.Aggregate().SetBatchSize(2)))
	if err != nil {
		return err
	}
	return c.iterate(cursor, "the Current of an aggregate", 3)
}

func (c *call) watch() error {
	pipeline := mongo.Pipeline(lendAll(c.loan, "a pipeline", []bson.D{{d("$match", c.ask(4))}}, false))
	stream, err := c.coll.Watch(c.ctx, pipeline, lendOptions(c.loan, options.ChangeStream().SetBatchSize(2)))
	if err != nil {
		return err
	}
	for i := range int32(4) {
		c.shelf.keep("a resume token", []byte(stream.ResumeToken()), false)
		if !stream.Next(c.ctx) {
			break
		}
		c.shelf.keep("the Current of a change stream", []byte(stream.Current), false)
		if n, _ := stream.Current.Lookup("nonce").Int32OK(); n != c.nonce {
			return fmt.Errorf("%w: event %d of stream %d is %s", errWrong, i, c.nonce, brief(stream.Current))
		}
	}
	return errors.Join(stream.Err(), stream.Close(context.Background()))
}

func (c *call) count() error {
	n, err := c.coll.CountDocuments(c.ctx, c.ask(1))
	return c.number("the count", n, err)
}

func (c *call) distinct() error {
	result := c.coll.Distinct(c.ctx, "x", c.ask(1))
	raw, err := result.Raw()
	if err != nil {
		return err
	}
	c.shelf.keep("the Raw of a Distinct", []byte(raw), false)
	values, err := raw.Values()
	if err != nil {
		return err
	}
	return c.number("a distinct value", int64(values[0].Int32()), nil)
}

func (c *call) command() error {
	cmd := c.d("a command", bson.D{d("ping", 1), d("nonce", c.nonce), d("pad", pad(c.nonce, c.size()))})
	return c.single("a RunCommand", c.coll.Database().RunCommand(c.ctx, cmd))
}
