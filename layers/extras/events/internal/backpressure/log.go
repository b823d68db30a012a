package backpressure

import (
	"net"
	"strconv"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/logger"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
)

// The lines belong to the component "command": like its started and failed lines they concern a command, and have the same keys
// and request ID. The Logging specification has no component for retries.
const (
	commandRetryScheduled = "Command retry scheduled"
	commandRetryRefused   = "Command retry refused"
	commandRetriesEnded   = "Command retries ended"

	keyAttempt     = "attempt"
	keyCriticality = "criticality"
	keyAttempts    = "attempts"
	keyBackoffMS   = "backoffMS"
	keyTokens      = "tokens"
	keySuppressed  = "suppressed"
)

// The levels: a retry is normal, a refused one is what an operator looks for.
const (
	levelScheduled = logger.LevelDebug
	levelRefused   = logger.LevelInfo
	levelEnded     = logger.LevelDebug
)

// Policy has the receivers of decisions about retries, which are the same under all policies and may be nil.
//
//fork:extend they belong to the client
type Policy struct {
	Monitor *event.RetryMonitor
	Logger  *logger.Logger

	lines logLimiter
}

// Notable reports whether people should know that there is no retry: not if the error does not concern retries, as at the client's end.
func Notable(r retry.Reason) bool {
	return r != "" && r != retry.NotRetryable && r != retry.Disconnected
}

// logged reports whether there is a line about it, also if no retry came before.
func logged(r retry.Reason) bool { return Notable(r) || r == retry.Disconnected }

// Tokens returns the number of tokens left, or nil if there is no bucket.
func (p *Policy) Tokens() *float64 {
	if p.Bucket == nil {
		return nil
	}
	tokens := p.Bucket.Tokens()
	return &tokens
}

// LogsDecision reports whether a decision is worth a line and lines of its level are enabled. The failure of a first attempt with
// an error unrelated to retries is not; that it ended with its client is.
func (p *Policy) LogsDecision(retries int, verdict retry.Verdict) bool {
	if verdict.Retry {
		return p.logs(levelScheduled)
	}
	return (retries > 0 || logged(verdict.Reason)) && p.logs(levelRefused)
}

// LogsFinished reports whether lines about the end of retries are enabled.
func (p *Policy) LogsFinished() bool { return p.logs(levelEnded) }

func (p *Policy) logs(level logger.Level) bool {
	return p.Logger != nil && p.Logger.LevelComponentEnabled(level, logger.ComponentCommand)
}

// LogDecision logs a decision after the failure of an attempt on the connection, which is nil if there was none.
func (p *Policy) LogDecision(decision *event.RetryDecidedEvent, conn *mnet.Connection) {
	keys := logger.KeyValues{keyAttempt, decision.Attempt, logger.KeyReason, string(decision.Reason)}
	level, message := levelRefused, commandRetryRefused
	if decision.WillRetry {
		level, message = levelScheduled, commandRetryScheduled
		keys.Add(keyBackoffMS, decision.Backoff.Milliseconds())
	}
	keys.Add(logger.KeyFailure, p.format(decision.Failure))
	addServer(&keys, decision.ServerAddress)
	if conn != nil {
		addConnection(&keys, conn)
	}
	p.log(level, message, decision, keys)
}

// LogFinished logs the end of an operation for which a retry was announced.
func (p *Policy) LogFinished(finished *event.RetryFinishedEvent, requestID int64) {
	keys := logger.KeyValues{keyAttempts, finished.Attempts, keyBackoffMS, finished.Backoff.Milliseconds()}
	if finished.Failure != nil {
		keys.Add(logger.KeyReason, string(finished.Reason))
		keys.Add(logger.KeyFailure, p.format(finished.Failure))
	}
	p.log(levelEnded, commandRetriesEnded, lineOf(finished, requestID), keys)
}

// lineOf returns what the line about an end has in common with the lines about decisions.
func lineOf(finished *event.RetryFinishedEvent, requestID int64) *event.RetryDecidedEvent {
	return &event.RetryDecidedEvent{
		CommandName: finished.CommandName, DatabaseName: finished.DatabaseName, OperationID: finished.OperationID,
		RequestID: requestID, Tokens: finished.Tokens, Criticality: finished.Criticality,
	}
}

// log logs a line with keys besides those that all lines about retries have, unless there have been too many lines.
func (p *Policy) log(level logger.Level, message string, line *event.RetryDecidedEvent, keys logger.KeyValues) {
	if line.Criticality != event.CriticalityNormal {
		keys.Add(keyCriticality, line.Criticality.String())
	}
	suppressed, ok := p.lines.allow(p.Clock.Now())
	if !ok {
		return
	}
	keys.Add(logger.KeyMessage, message)
	keys.Add(logger.KeyCommandName, line.CommandName)
	keys.Add(logger.KeyDatabaseName, line.DatabaseName)
	keys.Add(logger.KeyOperationID, line.OperationID)
	keys.Add(logger.KeyRequestID, line.RequestID)
	if line.Tokens != nil {
		keys.Add(keyTokens, *line.Tokens)
	}
	if suppressed > 0 {
		keys.Add(keySuppressed, suppressed)
	}
	p.Logger.Print(level, logger.ComponentCommand, message, keys...)
}

// format returns the text of an error as in the lines "Command failed".
func (p *Policy) format(err error) string {
	return logger.FormatString(err.Error(), p.Logger.MaxDocumentLength)
}

// addServer adds the keys of a server, if known. A Unix domain socket has no port.
func addServer(keys *logger.KeyValues, server address.Address) {
	if server == "" {
		return
	}
	host, portText, err := net.SplitHostPort(server.String())
	if err != nil {
		keys.Add(logger.KeyServerHost, server.String())
		return
	}
	keys.Add(logger.KeyServerHost, host)
	if port, err := strconv.ParseInt(portText, 10, 0); err == nil {
		keys.Add(logger.KeyServerPort, port)
	}
}

// closed is how a connection names itself that has been closed meanwhile, by the command of a monitor that unpinned it. It has no numbers.
const closed = "<closed>"

// addConnection adds the keys of a connection.
func addConnection(keys *logger.KeyValues, conn *mnet.Connection) {
	if conn.ID() == closed {
		return
	}
	keys.Add(logger.KeyDriverConnectionID, conn.DriverConnectionID())
	if id := conn.ServerConnectionID(); id != nil {
		keys.Add(logger.KeyServerConnectionID, *id)
	}
	if id := conn.Description().ServiceID; id != nil {
		keys.Add(logger.KeyServiceID, id.Hex())
	}
}

// The client's limit of lines about retries. Under overload every command may be retried, and an operator needs examples and a
// count, not every line.
const (
	logWindow = time.Second
	logLines  = 10
)

// logLimiter passes logLines lines in each window, and counts the others.
type logLimiter struct {
	mu         sync.Mutex
	begin      time.Time // of the window
	passed     int       // lines in the window
	suppressed int       // lines since the last one that passed
}

// allow reports whether a line may be logged now, and if so how many were suppressed since the last one.
func (l *logLimiter) allow(now time.Time) (suppressed int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()

	if elapsed := now.Sub(l.begin); elapsed >= logWindow || elapsed < 0 { // a clock may go back
		l.begin, l.passed = now, 0
	}
	if l.passed == logLines {
		l.suppressed++
		return 0, false
	}
	l.passed++
	suppressed, l.suppressed = l.suppressed, 0
	return suppressed, true
}
