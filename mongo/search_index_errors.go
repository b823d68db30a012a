package mongo

import (
	"context"
	"errors"

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

// CreateOne creates a search index of the collection with the command createSearchIndexes, and returns its name. The server builds
// the index later: the search index cannot be used at once. SearchIndexView.CreateMany has an example, and says more of the models.
//
//fork:replace a reply that names no index made the client panic
func (siv SearchIndexView) CreateOne(
	ctx context.Context, model SearchIndexModel, opts ...options.Lister[options.CreateSearchIndexesOptions],
) (string, error) {
	created, err := siv.CreateMany(ctx, []SearchIndexModel{model}, opts...)
	if err != nil {
		return "", err
	}
	if len(created) == 0 {
		return "", errors.New("malformed reply: the server names no search index that it created")
	}
	return created[0], nil
}
