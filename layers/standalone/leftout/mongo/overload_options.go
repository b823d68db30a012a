//fork:base >=v2.10.0

package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

//fork:extend it is retried after overload errors
type createOp struct {
	maxAdaptiveRetries        uint
	enableOverloadRetargeting bool
}

//fork:extend it is retried after overload errors
func (c *createOp) execute(ctx context.Context) error {
	return driver.Operation{
		MaxAdaptiveRetries:        c.maxAdaptiveRetries,
		EnableOverloadRetargeting: c.enableOverloadRetargeting,
	}.Execute(ctx)
}

//fork:extend it is retried after overload errors
type createSearchIndexesOp struct {
	maxAdaptiveRetries        uint
	enableOverloadRetargeting bool
}

//fork:extend it is retried after overload errors
func (csi *createSearchIndexesOp) execute(ctx context.Context) error {
	return driver.Operation{
		MaxAdaptiveRetries:        csi.maxAdaptiveRetries,
		EnableOverloadRetargeting: csi.enableOverloadRetargeting,
	}.Execute(ctx)
}

//fork:extend it is retried after overload errors
type dropCollectionOp struct {
	maxAdaptiveRetries        uint
	enableOverloadRetargeting bool
}

//fork:extend it is retried after overload errors
func (dc *dropCollectionOp) execute(ctx context.Context) error {
	return driver.Operation{
		MaxAdaptiveRetries:        dc.maxAdaptiveRetries,
		EnableOverloadRetargeting: dc.enableOverloadRetargeting,
	}.Execute(ctx)
}

//fork:extend it is retried after overload errors
type dropDatabaseOp struct {
	maxAdaptiveRetries        uint
	enableOverloadRetargeting bool
}

//fork:extend it is retried after overload errors
func (dd *dropDatabaseOp) execute(ctx context.Context) error {
	return driver.Operation{
		MaxAdaptiveRetries:        dd.maxAdaptiveRetries,
		EnableOverloadRetargeting: dd.enableOverloadRetargeting,
	}.Execute(ctx)
}

//fork:extend it is retried after overload errors
type dropSearchIndexOp struct {
	maxAdaptiveRetries        uint
	enableOverloadRetargeting bool
}

//fork:extend it is retried after overload errors
func (dsi *dropSearchIndexOp) execute(ctx context.Context) error {
	return driver.Operation{
		MaxAdaptiveRetries:        dsi.maxAdaptiveRetries,
		EnableOverloadRetargeting: dsi.enableOverloadRetargeting,
	}.Execute(ctx)
}

//fork:extend it is retried after overload errors
type updateSearchIndexOp struct {
	maxAdaptiveRetries        uint
	enableOverloadRetargeting bool
}

//fork:extend it is retried after overload errors
func (usi *updateSearchIndexOp) execute(ctx context.Context) error {
	return driver.Operation{
		MaxAdaptiveRetries:        usi.maxAdaptiveRetries,
		EnableOverloadRetargeting: usi.enableOverloadRetargeting,
	}.Execute(ctx)
}

//fork:extend it is retried after overload errors
func (db *Database) Drop(ctx context.Context) error {
	return dropDatabaseOp{
		maxAdaptiveRetries:        db.client.effectiveAdaptiveRetries(db.client.retryWrites),
		enableOverloadRetargeting: db.client.enableOverloadRetargeting,
	}
}

//fork:extend it is retried after overload errors
func (coll *Collection) drop(ctx context.Context, additionalCmd bson.D) error {
	return dropCollectionOp{
		maxAdaptiveRetries:        coll.client.effectiveAdaptiveRetries(coll.client.retryWrites),
		enableOverloadRetargeting: coll.client.enableOverloadRetargeting,
	}
}

//fork:extend it is retried after overload errors
func (siv SearchIndexView) CreateMany(
	context.Context, []SearchIndexModel, ...options.Lister[options.CreateSearchIndexesOptions],
) ([]string, error) {
	return createSearchIndexesOp{
		maxAdaptiveRetries:        siv.coll.client.effectiveAdaptiveRetries(siv.coll.client.retryWrites),
		enableOverloadRetargeting: siv.coll.client.enableOverloadRetargeting,
	}
}

//fork:extend it is retried after overload errors
func (siv SearchIndexView) DropOne(context.Context, string, ...options.Lister[options.DropSearchIndexOptions]) error {
	return dropSearchIndexOp{
		maxAdaptiveRetries:        siv.coll.client.effectiveAdaptiveRetries(siv.coll.client.retryWrites),
		enableOverloadRetargeting: siv.coll.client.enableOverloadRetargeting,
	}
}

//fork:extend it is retried after overload errors
func (siv SearchIndexView) UpdateOne(context.Context, string, any, ...options.Lister[options.UpdateSearchIndexOptions]) error {
	return updateSearchIndexOp{
		maxAdaptiveRetries:        siv.coll.client.effectiveAdaptiveRetries(siv.coll.client.retryWrites),
		enableOverloadRetargeting: siv.coll.client.enableOverloadRetargeting,
	}
}
