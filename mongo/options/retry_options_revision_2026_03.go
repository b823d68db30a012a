//fork:base <v2.7.0

package options

// SetRetryWrites specifies whether commands that write are retried, by either of two policies. The default is true. This
// can also be set through the "retryWrites" URI option (e.g. "retryWrites=false").
//
// Overload: a server that is overloaded may reject any command, with an error that has the labels SystemOverloadedError
// and RetryableError. All writes are retried after such an error, on all topologies: those of many documents (UpdateMany,
// DeleteMany, bulk writes), aggregations with a $out or $merge stage, and those that create or drop databases, collections
// and indexes. They are retried up to 5 times, each time after a random backoff that may be twice as long as the one
// before.
//
// Retryable writes: on replica sets and sharded clusters, InsertOne, InsertMany, UpdateOne, ReplaceOne, DeleteOne,
// FindOneAndUpdate, FindOneAndReplace, FindOneAndDelete, and bulk writes without models that update or delete many
// documents, are also retried after network errors and when the primary changes: at once, and no more than once unless the
// operation has a timeout, which is the limit then. Unacknowledged writes are not.
//
// Once a command has met an overload error, 5 retries are the limit of both policies together.
//
// RunCommand is retried by the first policy alone, and only if SetRetryReads is true as well. CommitTransaction and
// AbortTransaction are retried by both policies, whatever this option says. SetAdaptiveRetries limits the retries of a
// client in a long overload.
//
// See the Client Backpressure specification, "Overload retry policy", and the Retryable Writes specification.
//
//fork:replace says what the option lets be retried now, which drivers have to document
func (c *ClientOptions) SetRetryWrites(b bool) *ClientOptions {
	c.RetryWrites = &b

	return c
}

// SetRetryReads specifies whether commands that read are retried, by either of two policies. The default is true. This can
// also be set through the "retryReads" URI option (e.g. "retryReads=false").
//
// Overload: a server that is overloaded may reject any command, with an error that has the labels SystemOverloadedError
// and RetryableError. All reads are retried after such an error, getMore for the next batch of a cursor included. They are
// retried up to 5 times, each time after a random backoff that may be twice as long as the one before.
//
// Retryable reads: Find, FindOne, Aggregate without a $out or $merge stage, Distinct, CountDocuments,
// EstimatedDocumentCount, Watch, and the methods that list databases, collections and indexes, are also retried after
// network errors and when the primary changes: at once, and no more than once unless the operation has a timeout, which is
// the limit then.
//
// Once a command has met an overload error, 5 retries are the limit of both policies together.
//
// RunCommand is retried by the first policy alone, and only if SetRetryWrites is true as well. SetAdaptiveRetries limits
// the retries of a client in a long overload.
//
// See the Client Backpressure specification, "Overload retry policy", and the Retryable Reads specification.
//
//fork:replace says what the option lets be retried now, which drivers have to document
func (c *ClientOptions) SetRetryReads(b bool) *ClientOptions {
	c.RetryReads = &b

	return c
}
