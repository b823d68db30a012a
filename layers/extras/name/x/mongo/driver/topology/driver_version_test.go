package topology

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/logger"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/version"
)

// versionSink keeps the messages that say something about the driver's version, with its keys.
type versionSink map[string]map[string]any

func (s versionSink) Info(_ int, message string, keysAndValues ...any) {
	keys := map[string]any{}
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		keys[keysAndValues[i].(string)] = keysAndValues[i+1]
	}
	if _, ok := keys["driverVersion"]; ok {
		s[message] = keys
	}
}

func (versionSink) Error(error, string, ...any) {}

// openingLog returns what a client logs of its version when it connects.
func openingLog(t *testing.T, level options.LogLevel, required string, newer bool) versionSink {
	t.Helper()
	sink := versionSink{}
	topo := newTopology(t, options.Client().ApplyURI("mongodb://127.0.0.1:1/?serverMonitoringMode=poll").SetLoggerOptions(
		options.Logger().SetSink(sink).SetComponentLevel(options.LogComponentTopology, level)))
	topo.logRequired(required, newer)
	topo.publishTopologyOpeningEvent()
	topo.cfg.logger.Close()
	return sink
}

func TestLogSaysWhichDriverRuns(t *testing.T) {
	t.Parallel()
	log := openingLog(t, options.LogLevelDebug, "v2.5.0", false)
	require.Equal(t, 1, len(log))
	assert.Equal(t, version.Driver, log[logger.TopologyOpening]["driverVersion"])
	log = openingLog(t, options.LogLevelInfo, "v99.0.0", true)
	require.Equal(t, 1, len(log))
	assert.Equal(t, "v99.0.0", log["The program requires a newer driver than the one that it was built with"]["requiredVersion"])
	assert.Equal(t, version.Driver, log["The program requires a newer driver than the one that it was built with"]["driverVersion"])
	assert.Equal(t, 0, len(openingLog(t, options.LogLevelInfo, "v2.5.0", false)), "nothing to tell")
	assert.Equal(t, 0, len(openingLog(t, options.LogLevel(0), "v99.0.0", true)), "no logging")
}
