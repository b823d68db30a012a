package logger

import "context"

// nameContext tells the name of an operation, and idContext its ID. Log lines ask for them; most operations have none.
type (
	nameContext struct {
		context.Context
		name string
	}
	idContext struct {
		context.Context
		id int32
	}
)

// Value implements the context.Context interface.
func (c *nameContext) Value(key any) any {
	if key == contextKeyOperation {
		return c.name
	}
	return c.Context.Value(key)
}

// Value implements the context.Context interface.
func (c *idContext) Value(key any) any {
	if key == contextKeyOperationID {
		return c.id
	}
	return c.Context.Value(key)
}

// WithOperationName returns a context that tells the operation's name.
//
//fork:replace the name was also copied to the heap as an interface
func WithOperationName(ctx context.Context, operation string) context.Context {
	return &nameContext{ctx, operation}
}

// WithOperationID returns a context that tells the operation's ID.
//
//fork:replace the ID was also copied to the heap as an interface
func WithOperationID(ctx context.Context, operationID int32) context.Context {
	return &idContext{ctx, operationID}
}
