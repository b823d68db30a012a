package scripted

import "fmt"

// Log is a sink of log lines.
type Log struct {
	Lines []string         // each as its level and message
	Keys  []map[string]any // of each line
}

// Info implements the interfaces of sinks.
func (l *Log) Info(level int, message string, keysAndValues ...any) {
	keys := make(map[string]any)
	for i := 0; i < len(keysAndValues); i += 2 {
		keys[keysAndValues[i].(string)] = keysAndValues[i+1]
	}
	l.Lines = append(l.Lines, fmt.Sprintf("%d %s", level, message))
	l.Keys = append(l.Keys, keys)
}

// Error implements the interfaces of sinks. The driver does not call it.
func (*Log) Error(err error, _ string, _ ...any) { panic(err) }
