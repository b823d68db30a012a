package driver

import (
	"net"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/logger"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
)

// The lines belong to the component "command": they are about a command as its started and failed lines are, have the
// same keys, and share the request ID with them. The Logging specification has no component for retries.
const (
	commandRetryScheduled = "Command retry scheduled"
	commandRetryRefused   = "Command retry refused"
	commandRetriesEnded   = "Command retries ended"

	keyAttempt    = "attempt"
	keyAttempts   = "attempts"
	keyBackoffMS  = "backoffMS"
	keyTokens     = "tokens"
	keySuppressed = "suppressed"
)

// What is logged on which level: a retry is part of the normal course, a refused one is what an operator looks for.
const (
	levelScheduled = logger.LevelDebug
	levelRefused   = logger.LevelInfo
	levelEnded     = logger.LevelDebug
)

// logsDecision reports whether a decision is worth a line, and lines of its level are wanted. That a first attempt failed
// with an error that has nothing to do with retries is not.
func (p *OverloadPolicy) logsDecision(retries int, retry bool, reason string) bool {
	if retry {
		return p.logs(levelScheduled)
	}
	return (retries > 0 || reason != event.RetryReasonNotRetryable) && p.logs(levelRefused)
}

func (p *OverloadPolicy) logsFinished() bool { return p.logs(levelEnded) }

func (p *OverloadPolicy) logs(level logger.Level) bool {
	return p.Logger != nil && p.Logger.LevelComponentEnabled(level, logger.ComponentCommand)
}

// logDecision logs a decision after the failure of an attempt on the connection, which is nil if there was none.
func (p *OverloadPolicy) logDecision(decision *event.RetryDecidedEvent, conn *mnet.Connection) {
	level, message := levelRefused, commandRetryRefused
	var extra logger.KeyValues
	extra.Add(keyAttempt, decision.Attempt)
	extra.Add(logger.KeyReason, decision.Reason)
	if decision.WillRetry {
		level, message = levelScheduled, commandRetryScheduled
		extra.Add(keyBackoffMS, decision.Backoff.Milliseconds())
	}
	extra.Add(logger.KeyFailure, logger.FormatString(decision.Failure.Error(), p.Logger.MaxDocumentLength))
	command := logger.Command{
		Name:         decision.CommandName,
		DatabaseName: decision.DatabaseName,
		OperationID:  int32(decision.OperationID),
		RequestID:    decision.RequestID,
	}
	command.ServerHost, command.ServerPort = hostAndPort(decision.ServerAddress)
	if conn != nil {
		command.DriverConnectionID = conn.DriverConnectionID()
		command.ServerConnectionID = conn.ServerConnectionID()
		command.ServiceID = conn.Description().ServiceID
	}
	p.log(level, message, command, extra, decision.Tokens)
}

// logFinished logs the end of an operation for which a retry was announced.
func (p *OverloadPolicy) logFinished(finished *event.RetryFinishedEvent, requestID int64) {
	var extra logger.KeyValues
	extra.Add(keyAttempts, finished.Attempts)
	extra.Add(keyBackoffMS, finished.Backoff.Milliseconds())
	if finished.Failure != nil {
		extra.Add(logger.KeyReason, finished.Reason)
		extra.Add(logger.KeyFailure, logger.FormatString(finished.Failure.Error(), p.Logger.MaxDocumentLength))
	}
	command := logger.Command{
		Name:         finished.CommandName,
		DatabaseName: finished.DatabaseName,
		OperationID:  int32(finished.OperationID),
		RequestID:    requestID,
	}
	p.log(levelEnded, commandRetriesEnded, command, extra, finished.Tokens)
}

// log logs a line, unless there have been too many.
func (p *OverloadPolicy) log(
	level logger.Level, message string, command logger.Command, extra logger.KeyValues, tokens *float64,
) {
	suppressed, ok := p.lines.allow(p.Clock.Now())
	if !ok {
		return
	}
	if tokens != nil {
		extra.Add(keyTokens, *tokens)
	}
	if suppressed > 0 {
		extra.Add(keySuppressed, suppressed)
	}
	command.Message = message
	p.Logger.Print(level, logger.ComponentCommand, message, logger.SerializeCommand(command, extra...)...)
}

func hostAndPort(server address.Address) (host, port string) {
	host, port, _ = net.SplitHostPort(server.String())
	return host, port
}

// The client's limit of lines about retries. Under overload every command may be retried, and an operator needs examples
// and a count rather than every line.
const (
	logWindow = time.Second
	logLines  = 10
)

// logLimiter lets logLines lines pass in each window, and counts the others.
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

	if elapsed := now.Sub(l.begin); elapsed >= logWindow || elapsed < 0 {
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
