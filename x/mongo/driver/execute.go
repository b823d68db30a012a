package driver

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/csot"
)

//fork:remove labeledError only the former Execute asked errors for it

// Execute runs this operation: it selects a server, sends the command, processes the reply and retries the command as the Retryable Reads,
// Retryable Writes and Client Backpressure specifications say. An operation with Batches is sent as several commands, one for each batch.
//
//fork:replace retries after overload errors, with a backoff; returns the error of a refused retry where upstream returned nil
func (op Operation) Execute(ctx context.Context) error {
	op.tellExecuted(false) // for the returns before the first command
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
	ex.plug()
	ctx, ex.purpose = backpressure.TakePurpose(ctx)
	ex.trips.measure(ctx)
	ex.gate.enter(ctx)
	ex.start(ctx) // reads the purpose, and sets the policy, which knows for the admission whether the client is disconnected
	if !ex.admission.enters() {
		return backpressure.ErrDisconnected
	}
	defer ex.end()
	for {
		last, err := ex.command(ctx)
		ex.watcher.mayRelease(ctx)
		if err == nil {
			if ex.nextBatch(last) {
				continue
			}
			if ex.results != nil {
				err = ex.results.written()
			}
		}
		op.tellExecuted(last.mayHaveAdvanced())
		return ex.withResults(ex.watcher.finished(ctx, err))
	}
}

// start prepares for the first command.
func (ex *operationRun) start(ctx context.Context) {
	ex.policy = ex.op.overloadPolicy()
	ex.results = ex.newBatchResults()
	ex.limit = ex.op.readWriteLimit(csot.IsTimeoutContext(ctx) && !ex.purpose.OwnTime && !ex.purpose.Again)
	ex.startCommand()
}

// startCommand prepares for a command. Each batch is a separate command with its own retries.
func (ex *operationRun) startCommand() {
	kind := ex.op.kind()
	ex.cmd = commandRun{
		execution: ex.policy.Start(kind, ex.limit),
		errs:      attemptErrors{kind: kind, inTxn: ex.inTransaction()},
		startsTxn: ex.op.Client != nil && ex.op.Client.TransactionStarting(),
	}
}

// command executes one command. It returns the last attempt, and no error if the operation goes on with the next batch, or is done.
func (ex *operationRun) command(ctx context.Context) (*attempt, error) {
	ex.watcher.commandBegins()
	a, err := ex.attempts(ctx)
	if unpinErr := ex.unpin(err); unpinErr != nil { // the error may be that of an earlier attempt
		err = unpinErr
	}
	if e, ok := err.(Error); ok {
		e.unsent = a.stage != sent && ex.cmd.errs.attempted == nil // the command was certainly not executed
		err = e
	}
	return a, ex.conclude(ctx, a, err)
}

// attempts makes attempts until one succeeds or fails without a retry. It returns the last.
func (ex *operationRun) attempts(ctx context.Context) (*attempt, error) {
	for {
		a := ex.attempt(ctx)
		ex.watcher.attempted(a)
		if a.err == nil {
			return a, ex.succeed(a)
		}
		if ex.reauthenticate(ctx, a) || ex.cmd.errs.waitsForOwnPoolClear(a) {
			ex.reset()
			continue // no policy counts it as a retry
		}

		a.cause = ex.classify(a)
		verdict := ex.decide(ctx, a)
		ex.watcher.decided(ctx, a, verdict)
		if !verdict.Retry || !a.cause.Rejected() { // a rejected command that is sent again keeps its server
			if err := ex.unpin(a.err); err != nil {
				return a, err
			}
		}
		if !verdict.Retry {
			return a, ex.giveUp(ctx, a, verdict)
		}
		if err := ex.prepareRetry(ctx, a, verdict.Backoff); err != nil {
			return a, err
		}
		ex.watcher.retried()
	}
}

// nextBatch prepares for the next batch, on the same connection unless that was returned, and reports whether there is one.
func (ex *operationRun) nextBatch(last *attempt) bool {
	batches := ex.op.Batches
	if batches == nil || batches.Size() <= ex.cmd.documents {
		return false
	}
	// A batch is not a retry of the previous one, but a retryable write with its own transaction number.
	if ex.retrySupported && last.retryEnabled && ex.op.Client != nil {
		ex.op.Client.IncrementTxnNumber()
	}
	ex.currIndex += ex.cmd.documents
	batches.AdvanceBatches(ex.cmd.documents)
	ex.startCommand() // last, because it forgets the number of documents
	return true
}

// end returns the connection.
func (ex *operationRun) end() {
	ex.releaseConnection()
	ex.admission.leaves() // last: whoever waits for it may close the pool
}
