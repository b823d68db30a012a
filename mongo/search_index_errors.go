package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// DropOne drops the search index of this name.
//
//fork:wrap a server's error is a CommandError, as in all other methods
func (siv SearchIndexView) DropOne(
	ctx context.Context, name string, opts ...options.Lister[options.DropSearchIndexOptions],
) error {
	return wrapErrors(siv.upstreamDropOne(ctx, name, opts...))
}

// UpdateOne replaces the definition of the search index of this name.
//
//fork:wrap a server's error is a CommandError, as in all other methods
func (siv SearchIndexView) UpdateOne(
	ctx context.Context, name string, definition any, opts ...options.Lister[options.UpdateSearchIndexOptions],
) error {
	return wrapErrors(siv.upstreamUpdateOne(ctx, name, definition, opts...))
}
