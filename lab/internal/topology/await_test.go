package topology

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/bsondoc"
)

const heartbeat = 10 * time.Second

// awaiting is a hello that knows a version.
func awaiting(version any) bson.D {
	return bson.D{e("hello", 1), e("topologyVersion", version), e("maxAwaitTimeMS", heartbeat.Milliseconds())}
}

func TestAwait(t *testing.T) {
	tests := map[string]struct {
		known func(topologyVersion) topologyVersion // of the present one
		want  time.Duration                         // until the reply; there is a step-down after 3 s
	}{
		"same":  {func(v topologyVersion) topologyVersion { return v }, 3 * time.Second},
		"older": {func(v topologyVersion) topologyVersion { v.Counter--; return v }, 0},
		// the election
		"newer":          {func(v topologyVersion) topologyVersion { v.Counter++; return v }, 3*time.Second + electionDelay},
		"another server": {func(v topologyVersion) topologyVersion { v.Process = bson.NewObjectID(); return v }, 0},
		"much newer":     {func(v topologyVersion) topologyVersion { v.Counter += 9; return v }, heartbeat},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, ReplicaSet, 2)
				c.Up(0) // so that there is an older version
				known := test.known(c.members[1].view().version)
				time.AfterFunc(3*time.Second, func() { c.StepDown(time.Minute) })
				start := time.Now()
				b := &backend{reply: backendHello(t)}
				b.send(t, c, 1, awaiting(known)...)
				assert.Equal(t, test.want, time.Since(start))
				forwarded := b.asked.Document()
				assert.False(t, bsondoc.Has(forwarded, "topologyVersion") || bsondoc.Has(forwarded, "maxAwaitTimeMS"))
				time.Sleep(time.Minute) // the step-down is over in any case
			})
		})
	}
}
