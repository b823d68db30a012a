package mongo

import "go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

// IsPoolClearedError returns true if err says that an operation got no connection, or its command was not sent, because the connections to
// its server were given up: another operation or the server's monitor has met a network error, or the server has not been checked yet. That
// command was not executed. Operations can be tried again once the server is known, usually within a second.
func IsPoolClearedError(err error) bool { return topology.IsPoolCleared(err) }
