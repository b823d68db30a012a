package mongo

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// CreateOne creates a search index of the collection with the command createSearchIndexes, and returns its name. The server builds
// the index later: the search index cannot be used at once. SearchIndexView.CreateMany has an example, and says more of the models.
//
//fork:replace a reply that names no index made the client panic
func (siv SearchIndexView) CreateOne(
	ctx context.Context,
	model SearchIndexModel,
	opts ...options.Lister[options.CreateSearchIndexesOptions],
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
