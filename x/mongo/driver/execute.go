package driver

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/csot"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
)

//fork:remove labeledError only the former Execute asked errors for it

// Execute runs this operation: it selects a server, sends the command, processes the reply and retries the command as
// the Retryable Reads, Retryable Writes and Client Backpressure specifications say. An operation with Batches is sent
// as several commands, one for each batch.
//
// Retries after overload errors need a Deployment that has an overload policy, see backpressure.PolicyHolder.
//
//fork:replace retries after overload errors, with a backoff; returns the error of a refused retry where upstream returned nil
func (op Operation) Execute(ctx context.Context) error {
	if err := op.Validate(); err != nil {
		return err
	}

	ctx, cancel := csot.WithTimeout(ctx, op.Timeout)
	defer cancel()

	if op.Client != nil {
		if err := op.Client.StartCommand(); err != nil {
			return err
		}
	}

	ex := operationRun{op: op}
	ex.start(ctx)
	defer ex.release()
	for {
		err := ex.command(ctx)
		ex.reportDecision(ctx)
		if err != nil {
			return ex.finish(ctx, err)
		}
		if !ex.nextBatch() {
			return ex.finish(ctx, ex.batchErrors())
		}
	}
}

// operationRun is the state of one call of Operation.Execute.
type operationRun struct {
	op       Operation // a copy: its name and write concern change with the attempts
	overload *backpressure.Policy
	kind     retry.Kind
	limit    retry.Limit   // by the Retryable Reads and Writes specifications, for each command
	key      retry.Command // once a throttle had to know it, see Operation.commandKey

	// The command being executed: all of its attempts.
	retries       retry.Execution
	deprioritized []description.Server
	errs          attemptErrors
	startsTxn     bool // the command is the first of a transaction
	retrySupported,
	begun bool // the first server has been found and retrySupported determined

	// The current attempt.
	srvr Server
	conn *mnet.Connection
	wm   *[]byte
	sent sentCommand

	// Over the batches.
	history   history
	currIndex int
	failed    WriteCommandError
}

// sentCommand describes the command that the current attempt has sent.
type sentCommand struct {
	desc         description.SelectedServer
	res          bsoncore.Document
	batchSize    int  // the number of documents of op.Batches in it
	retryEnabled bool // by the operation's RetryMode, which building the command may set
	moreToCome   bool // no reply will follow
}

// start prepares for the first command.
func (ex *operationRun) start(ctx context.Context) {
	ex.overload = ex.op.overloadPolicy()
	if ex.op.isClientBulkWrite() && ex.op.RetryMode != nil && ex.overload != nil && !ex.overload.RetryWrites {
		*ex.op.RetryMode = RetryNone // which is otherwise known once the first batch is built
	}
	ex.kind = ex.op.retryKind(ctx)
	ex.limit = ex.op.readWriteLimit(ctx)
	ex.wm = memoryPool.Get().(*[]byte)
	ex.startCommand()
}

// startCommand resets what belongs to a single command. Each batch is a separate command with its own retries.
func (ex *operationRun) startCommand() {
	ex.history.startCommand()
	ex.retries = ex.overload.Start(ex.kind, ex.limit)
	ex.deprioritized = nil
	ex.errs = attemptErrors{kind: ex.kind, inTxn: ex.inTransaction()}
	ex.startsTxn = ex.op.Client != nil && ex.op.Client.TransactionStarting()
}

// command executes one command: it makes attempts until one succeeds or fails without a retry.
func (ex *operationRun) command(ctx context.Context) error {
	for {
		fail := ex.attempt(ctx)
		if fail == nil {
			return ex.succeed(ctx)
		}

		reauthenticated, err := ex.reauthenticate(ctx, fail)
		if err != nil {
			return err
		}
		if reauthenticated {
			ex.reset(fail)
			continue
		}

		ex.classify(fail)
		var verdict retry.Verdict
		if !fail.executed {
			verdict = ex.retries.Failed(ex.describe(ctx, fail))
			ex.decided(ctx, fail, verdict)
		} else {
			ex.retries.Succeeded()
		}
		if verdict.Reason != retry.Overloaded {
			if err := ex.unpin(fail); err != nil {
				return err
			}
		}
		if !verdict.Retry {
			return ex.giveUp(ctx, fail, verdict.Reason)
		}
		if err := ex.prepareRetry(ctx, fail, verdict); err != nil {
			return err
		}
	}
}

// nextBatch prepares for the next batch, on the same connection unless that was returned, and reports whether there is one.
func (ex *operationRun) nextBatch() bool {
	batches := ex.op.Batches
	if batches == nil || batches.Size() <= ex.sent.batchSize {
		return false
	}
	// A batch is not a retry of the previous one, but a retryable write with its own transaction number.
	if ex.retrySupported && ex.sent.retryEnabled && ex.op.Client != nil {
		ex.op.Client.IncrementTxnNumber()
	}
	ex.currIndex += ex.sent.batchSize
	batches.AdvanceBatches(ex.sent.batchSize)
	ex.startCommand()
	return true
}

// release ends the execution: the connection and the buffer go back to their pools.
func (ex *operationRun) release() {
	ex.releaseConnection()

	// Buffers in a pool should have similar sizes. The garbage collector gets those that are mostly empty, or larger than the
	// largest wire message.
	const maxMessageSize = 16 * 1024 * 1024
	if c := cap(*ex.wm); c < maxMessageSize && c/2 < len(*ex.wm) {
		memoryPool.Put(ex.wm)
	}
}

// releaseConnection returns the connection, so that a failed attempt holds none, neither during the backoff nor while the next
// server is selected.
func (ex *operationRun) releaseConnection() {
	if ex.conn != nil {
		_ = ex.conn.Close()
	}
	ex.srvr, ex.conn = nil, nil
}
