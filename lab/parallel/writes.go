package parallel

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
)

func (c *call) insertOne() error {
	result, err := c.coll.InsertOne(c.ctx, c.doc("a document", c.size()))
	if result != nil {
		c.shelf.keep("the result of an InsertOne", result, false)
	}
	return err
}

func (c *call) insertMany() error {
	docs := make([]any, c.chance.IntN(25)+1)
	for i := range docs {
		docs[i] = c.doc("a document", c.size()/4)
	}
	all := lendAll(c.loan, "the slice of documents", docs, false)
	result, err := c.coll.InsertMany(c.ctx, all, lendOptions(c.loan, options.InsertMany().SetOrdered(c.chance.IntN(2) == 0)))
	if result == nil {
		return err
	}
	c.shelf.keep("the result of an InsertMany", result, false)
	return c.allOf("inserted documents", len(result.InsertedIDs), len(docs), err)
}

func (c *call) update() error {
	opts := lendOptions(c.loan, options.UpdateOne().SetUpsert(true))
	result, err := c.coll.UpdateOne(c.ctx, c.doc("a filter", 4, d("echo", true)), c.change(), opts)
	if err != nil {
		return err
	}
	return c.number("the number of updated documents", result.ModifiedCount, nil)
}

// change returns an update.
func (c *call) change() bson.D {
	return c.d("an update", bson.D{d("$set", bson.D{d("pad", pad(c.nonce, c.size()))})})
}

func (c *call) delete() error {
	result, err := c.coll.DeleteOne(c.ctx, c.doc("a filter", 4, d("echo", true)))
	if err != nil {
		return err
	}
	return c.number("the number of deleted documents", result.DeletedCount, nil)
}

func (c *call) modify() error {
	return c.single("a FindOneAndUpdate", c.coll.FindOneAndUpdate(c.ctx, c.ask(1), c.change()))
}

// bulk writes models, which the application may replace while the call runs: upstream has copied the list by then.
func (c *call) bulk() error {
	n := c.chance.IntN(6) + 2
	models := make([]mongo.WriteModel, n)
	for i := range models {
		models[i] = mongo.NewInsertOneModel().SetDocument(c.doc("a document", c.size()/4))
		if c.chance.IntN(6) == 0 {
			models[i] = mongo.NewUpdateOneModel().SetFilter(c.doc("a filter", 4)).SetUpdate(bson.D{d("$set", bson.D{d("x", 1)})})
		}
	}
	replaced := c.chance.IntN(2)
	models = lendAll(c.loan, "the slice of models", models, true)
	models[0] = mongo.NewInsertOneModel().SetDocument(c.doc("a document", 4))
	if replaced == 1 {
		models[0] = mongo.NewInsertOneModel().SetDocument(replacing{bson.D{d("nonce", c.nonce)}, models[1:]})
	} else {
		c.started = func() { clear(models) }
	}
	result, err := c.coll.BulkWrite(c.ctx, models, lendOptions(c.loan, options.BulkWrite().SetOrdered(c.chance.IntN(3) > 0)))
	if err != nil {
		return err
	}
	return c.allOf("models of a bulk write", int(result.InsertedCount+result.MatchedCount), n, nil)
}

func (c *call) clientBulk() error {
	var writes []mongo.ClientBulkWrite
	for range c.chance.IntN(12) + 1 {
		model := mongo.NewClientInsertOneModel().SetDocument(c.doc("a document", c.size()/4))
		writes = append(writes, mongo.ClientBulkWrite{Database: "db", Collection: "c", Model: model})
	}
	result, err := c.client.BulkWrite(c.ctx, lendAll(c.loan, "the slice of models", writes, false))
	if err != nil {
		return err
	}
	return c.allOf("models of a client bulk write", int(result.InsertedCount), len(writes), nil)
}

func (c *call) transaction() error {
	primary := options.Transaction().SetReadPreference(readpref.Primary())
	session, err := c.client.StartSession(options.Session().SetDefaultTransactionOptions(primary))
	if err != nil {
		return err
	}
	defer session.EndSession(context.Background())
	_, err = session.WithTransaction(c.ctx, func(ctx context.Context) (any, error) {
		one := *c
		one.ctx, one.coll = ctx, c.coll.Clone(options.Collection().SetReadPreference(readpref.Primary()))
		return nil, errors.Join(one.insertOne(), one.findOne(), one.update())
	})
	c.shelf.keep("a session's cluster time", []byte(session.ClusterTime()), false)
	return err
}

// session runs causally consistent operations.
func (c *call) session() error {
	return c.client.UseSession(c.ctx, func(ctx context.Context) error {
		one := *c
		one.ctx = ctx
		if err := errors.Join(one.update(), one.findOne(), one.all()); err != nil {
			return err
		}
		session := mongo.SessionFromContext(ctx)
		c.shelf.keep("a session's operation time", session.OperationTime(), true)
		c.shelf.keep("a session's cluster time", []byte(session.ClusterTime()), false)
		c.shelf.keep("a session's ID", []byte(session.ID()), false)
		return nil
	})
}
