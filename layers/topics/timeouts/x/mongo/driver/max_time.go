package driver

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
)

// Operation knows the round trips to the server that was selected, and whether it has a maxTimeMS of its own.
//
//fork:extend the round trip is the one known at the selection, which may be forgotten later; no command has two maxTimeMS
type Operation struct {
	// OwnMaxTime is whether the application has set maxTimeMS in the command. Servers reject a command with two, so none is added.
	OwnMaxTime bool

	minRTT *time.Duration // of the selected server; selectServer, which has only a copy of the Operation, sets what it points to
}

var _ roundTrips = (*operationRun)(nil) // or operationRun.plug would silently use unmeasured

// measure makes room for the shortest round trip to the server that will be selected. Only a deadline needs it.
func (ex *operationRun) measure(ctx context.Context) {
	if _, limited := ctx.Deadline(); limited {
		ex.op.minRTT = new(time.Duration)
	}
}

// shortest returns what selectServer noted.
func (ex *operationRun) shortest(*attempt) time.Duration { return ex.op.selectedRTT() }

// selectServer notes the shortest round trip to the server when it is selected: until there is a connection, a monitor may forget it
// (client-side-operations-timeout.md, "Command Execution").
//
//fork:wrap the round trips to a server that is reset meanwhile are lost
func (op Operation) selectServer(
	ctx context.Context,
	requestID int32,
	deprioritized []description.Server,
) (Server, error) {
	server, retErr := op.upstreamSelectServer(ctx, requestID, deprioritized)
	if retErr == nil && op.minRTT != nil {
		*op.minRTT = server.RTTMonitor().Min()
	}
	return server, retErr
}

// selectedRTT returns what selectServer noted, or zero without a deadline.
func (op Operation) selectedRTT() time.Duration {
	if op.minRTT == nil {
		return 0
	}
	return *op.minRTT
}

// calculateMaxTimeMS returns the value of the maxTimeMS field, or zero for none. OmitMaxTimeMS does not count for an aggregate with $out or
// $merge: the cursor that it returns is empty, so the limit cannot end a cursor's life.
//
//fork:wrap aggregates with $out or $merge have a maxTimeMS field, and no command has two
func (op Operation) calculateMaxTimeMS(ctx context.Context, rttMin time.Duration, rttStats string) (int64, error) {
	if op.OwnMaxTime {
		return 0, nil
	}
	if op.IsOutputAggregate {
		op.OmitMaxTimeMS = false
	}
	return op.upstreamCalculateMaxTimeMS(ctx, rttMin, rttStats)
}

// createMsgWireMessage appends a command. To encrypt one, the key vault and key management services may be asked, which takes a while:
// the time that is left is determined after that (client-side-operations-timeout.md, "Command Execution").
//
//fork:wrap the time that encryption takes is no time for the server
func (op Operation) createMsgWireMessage(
	ctx context.Context, maxTimeMS int64, dst []byte, desc description.SelectedServer, conn *mnet.Connection,
	cmdFn func([]byte, description.SelectedServer) ([]byte, error),
) ([]byte, []byte, error) {
	if maxTimeMS == 0 || !op.shouldEncrypt() {
		return op.upstreamCreateMsgWireMessage(ctx, maxTimeMS, dst, desc, conn, cmdFn)
	}
	command, err := cmdFn(nil, desc)
	if err != nil {
		return dst, nil, err
	}
	// buildCommand adds what is known of the round trips to the error.
	if maxTimeMS, err = op.calculateMaxTimeMS(ctx, op.selectedRTT(), ""); err != nil {
		return dst, nil, err
	}
	built := func(dst []byte, _ description.SelectedServer) ([]byte, error) { return append(dst, command...), nil }
	return op.upstreamCreateMsgWireMessage(ctx, maxTimeMS, dst, desc, conn, built)
}
