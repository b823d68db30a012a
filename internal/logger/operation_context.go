package logger

import "context"

// operationContext tells the name or the ID of an operation, if somebody asks for it.
type operationContext struct {
	context.Context
	key  contextKey
	name string
	id   int32
}

// WithOperationName returns a context that tells the operation's name.
//
//fork:replace the name was also copied to the heap, as an interface
func WithOperationName(ctx context.Context, operation string) context.Context {
	return &operationContext{Context: ctx, key: contextKeyOperation, name: operation}
}

// WithOperationID returns a context that tells the operation's ID.
//
//fork:replace the ID was also copied to the heap, as an interface
func WithOperationID(ctx context.Context, operationID int32) context.Context {
	return &operationContext{Context: ctx, key: contextKeyOperationID, id: operationID}
}

// Value implements the context.Context interface.
func (c *operationContext) Value(key any) any {
	switch {
	case key != c.key:
		return c.Context.Value(key)
	case c.key == contextKeyOperation:
		return c.name
	default:
		return c.id
	}
}
