package options

// SetRetryWrites specifies whether commands that write are retried, under two policies. The default is true. This can also be set
// through the "retryWrites" URI option (e.g. "retryWrites=false").
//
// Overload: an overloaded server may reject any command, with an error that has the labels SystemOverloadedError and
// RetryableError. All writes are retried after such an error, whatever holds for other errors: on all topologies, and also writes of
// many documents (UpdateMany, DeleteMany, bulk writes), aggregations with a $out or $merge stage, and commands that create or drop
// databases, collections and indexes. They are retried as often as SetMaxAdaptiveRetries says, each time after a random backoff that
// may be twice as long as the previous one.
//
// Retryable writes: on replica sets and sharded clusters, InsertOne, InsertMany, UpdateOne, ReplaceOne, DeleteOne,
// FindOneAndUpdate, FindOneAndReplace, FindOneAndDelete, and bulk writes without models that update or delete many documents, are
// also retried after network errors and when the primary changes: at once, and only once or, if the operation has a timeout,
// until it ends. Unacknowledged writes are not.
//
// After an overload error, SetMaxAdaptiveRetries limits all retries of a command.
//
// RunCommand is retried after overload errors only, and only if SetRetryReads is true as well. CommitTransaction and
// AbortTransaction are retried regardless of this option.
//
// See the Client Backpressure specification, "Overload retry policy", and the Retryable Writes specification.
//
//fork:replace documents what the option now retries, as drivers have to (retryable-reads.md, "Documentation")
func (c *ClientOptions) SetRetryWrites(b bool) *ClientOptions {
	c.RetryWrites = &b

	return c
}

// SetRetryReads specifies whether commands that read are retried, under two policies. The default is true. This can also be set
// through the "retryReads" URI option (e.g. "retryReads=false").
//
// Overload: an overloaded server may reject any command, with an error that has the labels SystemOverloadedError and
// RetryableError. All reads are retried after such an error, including getMore for the next batch of a cursor. They are retried as
// often as SetMaxAdaptiveRetries says, each time after a random backoff that may be twice as long as the previous one.
//
// Retryable reads: Find, FindOne, Aggregate without a $out or $merge stage, Distinct, CountDocuments, EstimatedDocumentCount,
// Watch, and the methods that list databases, collections and indexes, are also retried after network errors and when the primary
// changes: at once, and only once or, if the operation has a timeout, until it ends.
//
// Lists of search indexes and GridFS downloads send such commands, so they are retried, too. A getMore is retried after overload errors
// only, because after others the driver cannot know whether the cursor has advanced on the server; so is any command in a transaction.
//
// After an overload error, SetMaxAdaptiveRetries limits all retries of a command.
//
// RunCommand is retried after overload errors only, and only if SetRetryWrites is true as well.
//
// See the Client Backpressure specification, "Overload retry policy", and the Retryable Reads specification.
//
//fork:replace documents what the option now retries, as drivers have to (retryable-reads.md, "Documentation")
func (c *ClientOptions) SetRetryReads(b bool) *ClientOptions {
	c.RetryReads = &b

	return c
}
