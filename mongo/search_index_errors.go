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
	return wrapErrors(siv.upstreamDropOne(ctx, name, opts...))
}

// The error of a server is a CommandError.
//
//fork:wrap a server's error is a CommandError, as in all other methods
func (siv SearchIndexView) UpdateOne(
	ctx context.Context, name string, definition any, opts ...options.Lister[options.UpdateSearchIndexOptions],
) error {
	return wrapErrors(siv.upstreamUpdateOne(ctx, name, definition, opts...))
}
