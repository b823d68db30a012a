package driver

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/internal/csot"
	"go.mongodb.org/mongo-driver/v2/internal/driverutil"
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
// Retries after overload errors need a Deployment that has an overload policy, see OverloadRetrier.
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
	overload *OverloadPolicy
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
	if batches, ok := ex.op.Batches.(commandingBatches); ok {
		batches.BeforeCommands()
	}
	ex.overload = ex.op.overloadPolicy()
	ex.kind = ex.op.retryKind(ctx)
	ex.limit = ex.op.readWriteLimit(ctx)
	ex.wm = memoryPool.Get().(*[]byte)
	ex.startCommand()
}

// startCommand resets what belongs to a single command. Each batch is a separate command with its own retries.
func (ex *operationRun) startCommand() {
	ex.history.startCommand()
	ex.retries = ex.overload.start(ex.kind, ex.limit)
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

// succeed processes the reply of a successful attempt.
func (ex *operationRun) succeed(ctx context.Context) error {
	if ex.sent.moreToCome {
		// The outcome is unknown, so nothing is deposited in the token bucket.
		return ErrUnacknowledgedWrite
	}
	ex.retries.Succeeded()
	return ex.processResponse(ctx, nil)
}

// processResponse passes the last reply to the operation, with the error made of it, if any.
func (ex *operationRun) processResponse(ctx context.Context, err error) error {
	if ex.op.ProcessResponseFn == nil {
		return nil
	}
	info := ResponseInfo{
		Server:                ex.srvr,
		Connection:            ex.conn,
		ConnectionDescription: ex.sent.desc.Server,
		CurrentIndex:          ex.currIndex,
		Error:                 err,
	}
	if _, ok := ex.op.Batches.(commandingBatches); !ok {
		return ex.op.ProcessResponseFn(ctx, ex.sent.res, info)
	}
	if driverutil.IsServerLoadBalanced(info.ConnectionDescription) {
		// The cursor of the reply is pinned to the connection, and returns it once it is exhausted or closed.
		defer ex.releaseConnection()
	} else {
		ex.releaseConnection()
	}
	return ex.op.ProcessResponseFn(ctx, ex.sent.res, info)
}

// commandingBatches is implemented by OperationBatches that send more commands, such as getMore, to process a reply. The
// connection is returned before that, because those commands need one too and may have to back off. Behind a load balancer they
// need the same one, and it is returned after them.
type commandingBatches interface {
	OperationBatches
	SendsCommands()

	// BeforeCommands is called once, before the first attempt to send a batch. It decides whether an attempt that gets no connection
	// may be retried.
	BeforeCommands()
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

// batchErrors returns the write errors and write concern errors of all batches.
func (ex *operationRun) batchErrors() error {
	if len(ex.failed.WriteErrors) == 0 && ex.failed.WriteConcernError == nil {
		return nil
	}
	return ex.failed
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
