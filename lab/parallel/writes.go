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
