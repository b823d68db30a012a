package driver

import "go.mongodb.org/mongo-driver/v2/internal/retry"

// RetryKind is what a command is to the overload retry policy. Like all of this package it may change, or go, in any version.
type RetryKind = retry.Kind

// The kinds of operations that have no Type. Others need none.
const (
	RetryKindWrite          = retry.Write
	RetryKindTransactionEnd = retry.TransactionEnd
)

// Operation says what it is to the overload retry policy.
//
//fork:extend the policy has to know writes without a Type, and cursors whether they advanced
type Operation struct {
	// Kind says which of the client's options permits retries after overload errors. Where it is not set, the Type does; without
	// that, too, it is runCommand or unknown.
	Kind RetryKind
	// NotExecuted, if it is set, tells of an operation that failed whether no server has executed its last command: that was not sent,
	// or rejected. Of one that succeeded it is false.
	NotExecuted *bool
}

// kind returns which of the client's options permits retries after overload errors.
func (op Operation) kind() retry.Kind {
	switch {
	case op.Kind != retry.Generic:
		return op.Kind
	case op.Type == Write || op.IsOutputAggregate:
		return retry.Write
	case op.Type == Read:
		return retry.Read
	default:
		return retry.Generic
	}
}
