package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/internal/csot"
)

// withTimeout returns a context for all commands of a call. Unless it has a deadline, it has the client's Timeout.
func (c *Client) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx == nil {
		ctx = context.Background()
	}
	return csot.WithTimeout(ctx, c.timeout)
}
