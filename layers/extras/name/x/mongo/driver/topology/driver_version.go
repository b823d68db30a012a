package topology

import (
	"go.mongodb.org/mongo-driver/v2/internal/logger"
	"go.mongodb.org/mongo-driver/v2/version"
)

// Log keys and texts about the running driver.
const (
	keyDriverVersion   = "driverVersion"
	keyRequiredVersion = "requiredVersion"

	messageOlderDriver = "The program requires a newer driver than the one that it was built with"
)

// logTopologyMessage adds the driver's version to the first message of a client, so that a log shows which driver wrote it. The
// logging specification allows keys beyond those that it names.
//
//fork:wrap a client's log says which driver runs
func logTopologyMessage(topo *Topology, level logger.Level, msg string, keysAndValues ...any) {
	if msg == logger.TopologyOpening {
		keysAndValues = append(keysAndValues, keyDriverVersion, version.Driver)
	}
	upstreamLogTopologyMessage(topo, level, msg, keysAndValues...)
}

// publishTopologyOpeningEvent runs once for each client that connects.
//
//fork:wrap reports a replaced driver that is too old for the program, since the go command says nothing
func (t *Topology) publishTopologyOpeningEvent() {
	if mustLogTopologyMessage(t, logger.LevelInfo) { // else nobody asks for the version
		t.logRequired(version.Required())
	}
	t.upstreamPublishTopologyOpeningEvent()
}

// logRequired reports a program that was made for a newer driver.
func (t *Topology) logRequired(required string, newer bool) {
	if newer {
		logTopologyMessage(t, logger.LevelInfo, messageOlderDriver, keyDriverVersion, version.Driver, keyRequiredVersion, required)
	}
}
