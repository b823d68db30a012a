package driver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// attempt sends the command once. It returns nil if the server executed it.
func (ex *operationRun) attempt(ctx context.Context) *failedAttempt {
	requestID := wiremessage.NextRequestID()
	ex.history.startAttempt(requestID)
	if ex.conn == nil {
		if fail := ex.checkOut(ctx, requestID); fail != nil {
			return fail
		}
		if err := ex.bindSession(); err != nil {
			return &failedAttempt{err: err, stage: preparing}
		}
	}
	ex.begin()

	started, err := ex.buildCommand(ctx, requestID)
	if err != nil {
		return unsentAttempt(ctx, err, preparing)
	}
	sent, err := ex.send(ctx, started)
	switch {
	case err == nil:
		return nil
	case sent:
		return &failedAttempt{err: err, stage: sending}
	default:
		return unsentAttempt(ctx, err, sending)
	}
}

// checkOut selects a server, which may be held back from, and gets a connection to it.
func (ex *operationRun) checkOut(ctx context.Context, requestID int32) *failedAttempt {
	op := ex.op
	throttling := ex.throttlingDeployment(ctx)
	if throttling != nil {
		op.Deployment = throttling
	}
	srvr, conn, err := op.getServerAndConnection(ctx, requestID, ex.deprioritized)
	if throttling != nil {
		ex.key = throttling.attempt.Command
	}
	if err != nil {
		return checkoutFailure(ctx, err)
	}
	ex.srvr, ex.conn = srvr, conn
	return nil
}

// bindSession gives an implicit session its server session, once there is a connection, so that an application never has more
// implicit sessions than connections.
func (ex *operationRun) bindSession() error {
	client := ex.op.Client
	if client == nil || client.Server != nil || !client.IsImplicit {
		return nil
	}
	if client.Terminated {
		return errors.New("unexpected nil session for a terminated implicit session")
	}
	return client.SetServer()
}

// begin determines whether the first server found supports retries, which then holds for the whole operation
// (retryable-writes.md, "Supported Server Versions"), and gives a retryable write its transaction number once, for all attempts.
// A server without retryable writes would reject the number.
func (ex *operationRun) begin() {
	if ex.begun {
		return
	}
	ex.begun = true
	ex.retrySupported = ex.op.retryable(ex.conn.Description())

	client := ex.op.Client
	if ex.retrySupported && ex.op.Type == Write && ex.op.retryEnabled() &&
		client != nil && !client.Committing && !client.Aborting {
		client.IncrementTxnNumber()
	}
}

// buildCommand writes the command's wire message to the buffer.
func (ex *operationRun) buildCommand(ctx context.Context, requestID int32) (startedInformation, error) {
	rtt := ex.srvr.RTTMonitor()
	maxTimeMS, err := ex.op.calculateMaxTimeMS(ctx, rtt.Min(), rtt.Stats())
	if err != nil {
		return startedInformation{}, err
	}
	desc := description.SelectedServer{Server: ex.conn.Description(), Kind: ex.op.Deployment.Kind()}
	if desc.IsCryptd {
		// The encrypted command may have its own maxTimeMS; there must not be two.
		maxTimeMS = 0
	}

	wm, moreToCome, started, err := ex.op.createWireMessage(ctx, maxTimeMS, (*ex.wm)[:0], desc, ex.conn, requestID)
	*ex.wm = wm
	if err != nil {
		return startedInformation{}, err
	}
	ex.sent = sentCommand{
		desc:         desc,
		batchSize:    started.processedBatches,
		retryEnabled: ex.op.retryEnabled(),
		moreToCome:   moreToCome,
	}

	started.cmdName = ex.op.getCommandName(started.cmd)
	// For logs and snapshot reads, the name that the server gets is better than the one that the caller set.
	ex.op.Name = started.cmdName
	started.redacted = ex.op.redactCommand(started.cmdName, started.cmd)
	started.connID = ex.conn.ID()
	started.driverConnectionID = ex.conn.DriverConnectionID()
	started.serverConnID = ex.conn.ServerConnectionID()
	started.serviceID = desc.ServiceID
	started.serverAddress = desc.Addr
	return started, nil
}

// send publishes the command, sends it, and publishes its end: each started event has its counterpart. It reports whether the
// server may have received the command.
func (ex *operationRun) send(ctx context.Context, started startedInformation) (sent bool, err error) {
	ex.op.publishStartedEvent(ctx, started)
	begin := time.Now()

	err = ex.compress(started.cmdName)
	if err == nil {
		err = ex.checkDeadline(ctx)
	}
	if err == nil {
		sent = true
		err = ex.roundTrip(ctx)
	}

	ex.op.publishFinishedEvent(ctx, finishedInformation{
		cmdName:            started.cmdName,
		requestID:          started.requestID,
		response:           ex.sent.res,
		cmdErr:             err,
		connID:             started.connID,
		driverConnectionID: started.driverConnectionID,
		serverConnID:       started.serverConnID,
		redacted:           started.redacted,
		serviceID:          started.serviceID,
		serverAddress:      started.serverAddress,
		duration:           time.Since(begin),
	})
	return sent, err
}

// checkDeadline returns an error if there is not even time for the fastest observed round trip.
func (ex *operationRun) checkDeadline(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	deadline, ok := ctx.Deadline()
	if rtt := ex.srvr.RTTMonitor(); ok && time.Until(deadline) < rtt.Min() {
		return fmt.Errorf("%w: %v", ErrDeadlineWouldBeExceeded, rtt.Stats())
	}
	return nil
}

// compress replaces the wire message in the buffer by a compressed one if both sides agreed on that. It runs after the started
// event, which reads the plain message.
func (ex *operationRun) compress(command string) error {
	compressor := ex.conn.Compressor
	if compressor == nil || !ex.op.canCompress(command) {
		return nil
	}
	compressed := memoryPool.Get().(*[]byte)
	wm, err := compressor.CompressWireMessage(*ex.wm, (*compressed)[:0])
	*compressed = wm
	memoryPool.Put(ex.wm)
	ex.wm = compressed
	return err
}

// roundTrip sends the message, reads the reply and reports the result to the server.
func (ex *operationRun) roundTrip(ctx context.Context) error {
	var err error
	if ex.sent.moreToCome {
		ex.sent.res, err = ex.op.moreToComeRoundTrip(ctx, ex.conn, *ex.wm)
	} else {
		ex.sent.res, err = ex.op.roundTrip(ctx, ex.conn, *ex.wm)
	}
	ex.tellServer(ctx, err)
	return err
}

// tellServer tells the server the end of an attempt, if there is a reply.
func (ex *operationRun) tellServer(ctx context.Context, err error) {
	unanswered := ex.sent.moreToCome && err == nil
	if processor, ok := ex.srvr.(ErrorProcessor); ok && !unanswered {
		_ = processor.ProcessError(err, ex.conn)
		ex.tellThrottle(ctx, err)
	}
}
