package driver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// attempt makes an attempt. Its err is nil if the server executed the command without errors, or it was sent and has no reply.
func (ex *operationRun) attempt(ctx context.Context) *attempt {
	ex.last = attempt{requestID: wiremessage.NextRequestID()}
	ex.makeAttempt(ctx, &ex.last)
	return &ex.last
}

// makeAttempt checks out a connection, and builds and sends the command.
func (ex *operationRun) makeAttempt(ctx context.Context, a *attempt) {
	if ex.link.conn == nil || !isCheckedOut(ex.link.conn) {
		if ex.checkOut(ctx, a); a.err != nil {
			return
		}
	}
	a.link, a.stage = ex.link, preparing
	if !isCheckedOut(a.conn) {
		a.err = errors.New("the connection that the cursor or the transaction is pinned to was already returned to the pool")
		return
	}
	a.desc = description.SelectedServer{Server: a.conn.Description(), Kind: ex.op.Deployment.Kind()}
	a.address = a.desc.Addr
	if a.err = ex.bindSession(); a.err != nil {
		return
	}
	ex.begin(a) // after that, because a transaction number is of the server session

	message := memoryPool.Get().(*[]byte)
	started, err := ex.buildCommand(ctx, a, message)
	if err != nil {
		recycle(message)
		a.err = err
		return
	}
	ex.send(ctx, a, started, message)
}

// recycle returns a buffer to the pool.
func recycle(message *[]byte) {
	if recyclable(*message) {
		memoryPool.Put(message)
	}
}

// recyclable reports whether a buffer may be used again. Those in a pool should have similar sizes: the garbage collector gets those that
// are large, and those that are mostly empty unless they are as small as new ones.
func recyclable(message []byte) bool {
	const smallest, large = 1024, 16 * 1024 * 1024
	c := cap(message)
	return c <= smallest || c < large && c/2 < len(message)
}

// checkOut selects a server and gets a connection to it.
func (ex *operationRun) checkOut(ctx context.Context, a *attempt) {
	op := ex.op // a copy: what the gate gives is for this attempt
	op.Deployment = ex.gate.deployment(ctx)
	ex.link.server, ex.link.conn, a.err = op.getServerAndConnection(ctx, a.requestID, ex.cmd.deprioritized)
	if a.err != nil {
		a.recordCheckoutFailure()
		a.withheld = ex.gate.withheld(a)
	}
}

// recordCheckoutFailure says to what server there is no connection, if that is known.
func (a *attempt) recordCheckoutFailure() {
	var establishment connectionError
	if errors.As(a.err, &establishment) {
		a.address = establishment.ServerAddress()
	}
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
func (ex *operationRun) begin(a *attempt) {
	if ex.begun {
		return
	}
	ex.begun = true
	ex.retrySupported = ex.op.retryable(a.desc.Server)

	client := ex.op.Client
	if ex.retrySupported && ex.op.Type == Write && ex.op.retryEnabled() &&
		client != nil && !client.Committing && !client.Aborting { // these have the number of their transaction
		client.IncrementTxnNumber()
	}
}

// buildCommand writes the command's wire message to the buffer.
func (ex *operationRun) buildCommand(ctx context.Context, a *attempt, message *[]byte) (startedInformation, error) {
	maxTimeMS, err := ex.maxTimeMS(ctx, a)
	if err != nil {
		return startedInformation{}, err
	}
	if a.desc.IsCryptd || ex.purpose.OwnTime {
		// The command that mongocryptd is to mark may have its own maxTimeMS; there must not be two. OwnTime: see Purpose.
		maxTimeMS = 0
	}

	wm, moreToCome, started, err := ex.op.createWireMessage(ctx, maxTimeMS, (*message)[:0], a.desc, a.conn, a.requestID)
	*message = wm // perhaps a larger array
	if err != nil {
		// Either to encrypt it took too long, or a command for the keys has run out of time, perhaps of the key vault client's own
		// Timeout.
		if errors.Is(err, ErrDeadlineWouldBeExceeded) {
			if _, late := ex.maxTimeMS(ctx, a); late != nil {
				return startedInformation{}, late
			}
		}
		a.foreign = true
		return startedInformation{}, err
	}
	ex.cmd.documents, a.moreToCome, a.retryEnabled = started.processedBatches, moreToCome, ex.op.retryEnabled()

	started.cmdName = ex.op.getCommandName(started.cmd)
	// For logs and snapshot reads, the name that the server gets is better than the one that the caller set.
	ex.op.Name = started.cmdName
	started.redacted = ex.op.redactCommand(started.cmdName, started.cmd)
	started.connID = a.conn.ID()
	started.driverConnectionID = a.conn.DriverConnectionID()
	started.serverConnID = a.conn.ServerConnectionID()
	started.serviceID = a.desc.ServiceID
	started.serverAddress = a.desc.Addr
	return started, nil
}

// maxTimeMS returns how long the server may take, or an error if no time is left.
func (ex *operationRun) maxTimeMS(ctx context.Context, a *attempt) (int64, error) {
	rtt := ex.trips.shortest(a)
	left, err := ex.op.calculateMaxTimeMS(ctx, rtt, "")
	if err != nil { // only now is the text worth what it costs
		left, err = ex.op.calculateMaxTimeMS(ctx, rtt, a.server.RTTMonitor().Stats())
	}
	return left, err
}

// send publishes the command, sends it, and publishes its end: each started event has its counterpart.
func (ex *operationRun) send(ctx context.Context, a *attempt, started startedInformation, message *[]byte) {
	ex.op.publishStartedEvent(ctx, started)
	begin := time.Now()

	message, a.err = ex.op.compress(a.conn, started.cmdName, message)
	if a.err == nil { // monitors and compression have taken time, and without a maxTimeMS nothing has looked at the deadline yet
		a.err = checkDeadline(ctx, a.server, ex.trips.shortest(a))
	}
	if a.err == nil {
		a.stage = sent
		ex.roundTrip(ctx, a, *message)
	}
	recycle(message)

	ex.op.publishFinishedEvent(ctx, finishedInformation{
		cmdName:            started.cmdName,
		requestID:          started.requestID,
		response:           a.reply,
		cmdErr:             a.err,
		connID:             started.connID,
		driverConnectionID: started.driverConnectionID,
		serverConnID:       started.serverConnID,
		redacted:           started.redacted,
		serviceID:          started.serviceID,
		serverAddress:      started.serverAddress,
		duration:           time.Since(begin),
	})
}

// checkDeadline returns an error if there is not even time for the fastest observed round trip.
func checkDeadline(ctx context.Context, server Server, rtt time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	deadline, ok := ctx.Deadline()
	if ok && time.Until(deadline) < rtt {
		return fmt.Errorf("%w: %v", ErrDeadlineWouldBeExceeded, server.RTTMonitor().Stats())
	}
	return nil
}

// compress returns the wire message, compressed if both sides agreed on that. It runs after the started event, which reads the plain
// message. One that was compressed goes back to the pool whatever its size, so that the next large one uses it again.
func (op Operation) compress(conn *mnet.Connection, command string, message *[]byte) (*[]byte, error) {
	if conn.Compressor == nil || !op.canCompress(command) {
		return message, nil
	}
	compressed := memoryPool.Get().(*[]byte)
	wm, err := conn.CompressWireMessage(*message, (*compressed)[:0])
	*compressed = wm
	memoryPool.Put(message)
	return compressed, err
}

// roundTrip sends the message and reads the reply, if one is to follow. It tells the server of each reply, and of each error, which may
// change the topology (server-discovery-and-monitoring.md, "Error handling").
func (ex *operationRun) roundTrip(ctx context.Context, a *attempt, message []byte) {
	began := ex.gate.sending()
	if a.moreToCome {
		a.reply, a.err = ex.op.moreToComeRoundTrip(ctx, a.conn, message)
	} else {
		a.reply, a.err = ex.op.roundTrip(ctx, a.conn, message)
	}
	if processor, ok := a.server.(ErrorProcessor); ok && (a.err != nil || !a.moreToCome) { // to have sent says nothing of the server
		_ = processor.ProcessError(a.err, a.conn) // whether that cleared the pool matters to no retry
		ex.gate.counted(a, began)
	}
}
