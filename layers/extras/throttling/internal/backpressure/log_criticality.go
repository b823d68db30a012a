package backpressure

import (
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/logger"
)

const keyCriticality = "criticality"

// The line has the class of the operation, unless it is normal.
//
//fork:wrap what is withheld depends on the class
func (p *Policy) log(level logger.Level, message string, line *event.RetryDecidedEvent, keys logger.KeyValues) {
	if line.Criticality != event.CriticalityNormal {
		keys.Add(keyCriticality, line.Criticality.String())
	}
	p.upstreamLog(level, message, line, keys)
}

// The line about an end has the class, too.
//
//fork:wrap what is withheld depends on the class
func lineOf(finished *event.RetryFinishedEvent, requestID int64) *event.RetryDecidedEvent {
	line := upstreamLineOf(finished, requestID)
	line.Criticality = finished.Criticality
	return line
}
