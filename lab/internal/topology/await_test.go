package topology

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
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
		"same":           {func(v topologyVersion) topologyVersion { return v }, 3 * time.Second},
		"older":          {func(v topologyVersion) topologyVersion { v.counter--; return v }, 0},
		"newer":          {func(v topologyVersion) topologyVersion { v.counter++; return v }, 3*time.Second + electionDelay}, // the election
		"another server": {func(v topologyVersion) topologyVersion { v.process = bson.NewObjectID(); return v }, 0},
		"much newer":     {func(v topologyVersion) topologyVersion { v.counter += 9; return v }, heartbeat},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, ReplicaSet, 2)
				c.Up(0) // so that there is an older version
				known := test.known(c.members[1].view().version)
				time.AfterFunc(3*time.Second, func() { assert.NoError(t, c.StepDown(time.Minute)) })
				start := time.Now()
				b := &backend{reply: backendHello(t)}
				b.send(t, c, 1, awaiting(bson.Raw(known.document()))...)
				assert.Equal(t, test.want, time.Since(start))
				forwarded := b.requests[0].Body
				assert.False(t, bsondoc.Has(forwarded, "topologyVersion") || bsondoc.Has(forwarded, "maxAwaitTimeMS"))
				time.Sleep(time.Minute) // the step-down is over in any case
			})
		})
	}
}

func TestStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, ReplicaSet, 2)
		ctx, cancel := context.WithCancelCause(context.Background())
		end := errors.New("the end")
		start := time.Now()
		b := &backend{reply: backendHello(t)}
		const elected = 3*time.Second + electionDelay
		var at []time.Duration
		var primaries []bool
		version := bson.Raw(c.members[0].view().version.document())
		time.AfterFunc(3*time.Second, func() { assert.NoError(t, c.StepDown(time.Hour)) })
		time.AfterFunc(25*time.Second, func() { cancel(end) })

		req := request(t, 1, append(awaiting(version), e("$db", "admin")), wire.ExhaustAllowed)
		err := c.Handler(0).Handle(ctx, req, func(m *wire.Message) error {
			at = append(at, time.Since(start))
			primaries = append(primaries, m.Body.Lookup("isWritablePrimary").Boolean())
			assert.True(t, m.HasFlag(wire.MoreToCome))
			return nil
		}, b.next)
		require.ErrorIs(t, err, end)
		assert.Equal(t, []time.Duration{3 * time.Second, elected, elected + heartbeat, elected + 2*heartbeat}, at,
			"the step-down, the election of another, and heartbeats")
		assert.Equal(t, []bool{false, false, false, false}, primaries)
		for _, request := range b.requests {
			assert.False(t, request.HasFlag(wire.ExhaustAllowed), "the backend is asked for each reply")
		}
	})
}

func TestStreamEndsWithAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, ReplicaSet, 1)
		version := bson.Raw(c.members[0].view().version.document())
		b := &backend{reply: document(t, bson.D{e("ok", 0), e("code", 91)})}
		replies := 0
		req := request(t, 1, awaiting(version), wire.ExhaustAllowed)
		require.NoError(t, c.Handler(0).Handle(context.Background(), req, func(m *wire.Message) error {
			replies++
			assert.False(t, m.HasFlag(wire.MoreToCome))
			return nil
		}, b.next))
		assert.Equal(t, 1, replies)

		silent := func(context.Context, *proxy.Request, proxy.ReplyFunc) error { return nil }
		require.NoError(t, c.Handler(0).Handle(context.Background(), req, nil, silent), "without a reply it ends, too")
	})
}
