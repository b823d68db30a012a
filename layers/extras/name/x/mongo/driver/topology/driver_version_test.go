package topology

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/logger"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/version"
)

// openingLog returns the line and the keys of what a client logs of its version when it connects, or nothing.
func openingLog(t *testing.T, level options.LogLevel, required string, newer bool) (line string, keys map[string]any) {
	t.Helper()
	sink := new(scripted.Log)
	topo := newTopology(t, options.Client().ApplyURI("mongodb://127.0.0.1:1/?serverMonitoringMode=poll").SetLoggerOptions(
		options.Logger().SetSink(sink).SetComponentLevel(options.LogComponentTopology, level)))
	topo.logRequired(required, newer)
	topo.publishTopologyOpeningEvent()
	topo.cfg.logger.Close()
	for i, logged := range sink.Keys {
		if logged["driverVersion"] != nil {
			require.True(t, line == "" || line == sink.Lines[i], "two lines")
			line, keys = sink.Lines[i], logged
		}
	}
	return line, keys
}

func TestLogSaysWhichDriverRuns(t *testing.T) {
	t.Parallel()
	line, keys := openingLog(t, options.LogLevelDebug, "v2.5.0", false)
	assert.Equal(t, []any{"1 " + logger.TopologyOpening, version.Driver}, []any{line, keys["driverVersion"]})
	line, keys = openingLog(t, options.LogLevelInfo, "v99.0.0", true)
	assert.Equal(t, "0 The program requires a newer driver than the one that it was built with", line)
	assert.Equal(t, []any{"v99.0.0", version.Driver}, []any{keys["requiredVersion"], keys["driverVersion"]})
	_, keys = openingLog(t, options.LogLevelInfo, "v2.5.0", false)
	assert.Nil(t, keys, "nothing to tell")
	_, keys = openingLog(t, options.LogLevel(0), "v99.0.0", true)
	assert.Nil(t, keys, "no logging")
}
