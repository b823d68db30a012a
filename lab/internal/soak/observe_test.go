package soak

import (
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/handlertest"
)

func TestAttempts(t *testing.T) {
	for name, test := range map[string]struct {
		commands  []string
		times     int
		want      map[string]int64
		mostTimes int
	}{
		"with all retries":        {[]string{`{"insert": 1, "comment": "x"}`}, maxCommands, map[string]int64{}, maxCommands},
		"once more":               {[]string{`{"insert": 1, "comment": "x"}`}, 7, map[string]int64{"operations of more than 6 commands": 1}, 7},
		"of several operations":   {[]string{`{"insert": 1, "comment": "x"}`, `{"insert": 1, "comment": "y"}`}, 4, map[string]int64{}, 4},
		"batches are no attempts": {[]string{`{"getMore": 1, "comment": "x"}`}, 7, map[string]int64{"operations that the server never saw": 1}, 0},
		"no comment":              {[]string{`{"insert": 1}`}, 7, map[string]int64{"operations that the server never saw": 1}, 0},
	} {
		a, report := &attempts{}, &Report{}
		for range test.times {
			for _, command := range test.commands {
				passed, _, err := handlertest.Handle(t, a, handlertest.Request(t, "soak", command), bson.D{})
				assert.True(t, err == nil && passed != nil, "it is passed on")
			}
		}
		a.check(report)
		assert.Equal(t, test.want, counted(report), name)
		assert.Equal(t, test.mostTimes, report.Most, name)
	}
}

func TestDialerCountsOpenConnections(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	d := &dialer{}
	conn, err := d.DialContext(t.Context(), "tcp", listener.Addr().String())
	require.NoError(t, err)
	assert.EqualValues(t, 1, d.open.Load())
	require.NoError(t, conn.Close())
	assert.Error(t, conn.Close(), "a second time")
	assert.EqualValues(t, 0, d.open.Load(), "is closed once")
}
