package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// The error of a server is a CommandError.
//
//fork:wrap a server's error is a CommandError, as in all other methods
func (siv SearchIndexView) DropOne(
	ctx context.Context, name string, opts ...options.Lister[options.DropSearchIndexOptions],
) error {
	err := siv.upstreamDropOne(ctx, name, opts...)
	return wrapErrors(err)
}

// The error of a server is a CommandError.
//
//fork:wrap a server's error is a CommandError, as in all other methods
func (siv SearchIndexView) UpdateOne(
	ctx context.Context, name string, definition any, opts ...options.Lister[options.UpdateSearchIndexOptions],
) error {
	err := siv.upstreamUpdateOne(ctx, name, definition, opts...)
	return wrapErrors(err)
}
