package soak

import (
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCausalSessions(t *testing.T) {
	const unwritten, back = "sessions that do not read their writes", "sessions whose reads go back"
	for name, test := range map[string]struct {
		written int64
		reads   []int64
		want    map[string]int64
	}{
		"its own write":           {3, []int64{3}, map[string]int64{}},
		"somebody's late attempt": {3, []int64{5, 5}, map[string]int64{}},
		"nothing yet":             {0, []int64{0}, map[string]int64{}},
		"not its own write":       {3, []int64{2}, map[string]int64{unwritten: 1}},
		"back in time":            {0, []int64{4, 3}, map[string]int64{back: 1}},
	} {
		report := newReport()
		c := &causal{worker: worker{application: &application{report: report}, name: "c"}, written: test.written}
		for _, value := range test.reads {
			c.judge(value)
		}
		assert.Equal(t, test.want, counted(report), name)
	}
}

func TestSums(t *testing.T) {
	for name, test := range map[string]struct {
		sum   int64
		count int
		want  map[string]int64
	}{
		"all there":           {accounts * initialBalance, accounts, map[string]int64{}},
		"money lost":          {accounts*initialBalance - 1, accounts, map[string]int64{"sums that are wrong": 1}},
		"money made":          {accounts*initialBalance + 1, accounts, map[string]int64{"sums that are wrong": 1}},
		"an account is gone":  {accounts * initialBalance, accounts - 1, map[string]int64{"sums that are wrong": 1}},
		"there is no account": {0, 0, map[string]int64{"sums that are wrong": 1}},
	} {
		report := newReport()
		(&application{report: report}).checkSum("x", test.sum, test.count)
		assert.Equal(t, test.want, counted(report), name)
	}
}

func TestSnapshotsFromBeforeTheAccounts(t *testing.T) {
	assert.True(t, tooEarly(0, 0))
	assert.False(t, tooEarly(0, accounts), "the money is gone")
	assert.False(t, tooEarly(0, 1))
	assert.False(t, tooEarly(accounts*initialBalance, accounts))
}

func TestDialerCountsOpenConnections(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	d := &dialer{}
	var open []net.Conn
	for range 2 {
		conn, err := d.DialContext(t.Context(), "tcp", listener.Addr().String())
		require.NoError(t, err)
		open = append(open, conn)
	}
	assert.EqualValues(t, 2, d.open.Load())
	require.NoError(t, open[0].Close())
	assert.Error(t, open[0].Close(), "a second time")
	assert.EqualValues(t, 1, d.open.Load(), "is closed once")

	require.NoError(t, listener.Close())
	_, err = d.DialContext(t.Context(), "tcp", listener.Addr().String())
	assert.Error(t, err)
	assert.EqualValues(t, 1, d.open.Load(), "was never open")
	require.NoError(t, open[1].Close())
}

func TestWatcherCheck(t *testing.T) {
	const twice, order, without = "events that came twice", "events out of order", "inserts without an event"
	for name, test := range map[string]struct {
		seen, inserted []int64
		want           map[string]int64
	}{
		"all in order":                  {[]int64{1, 2}, []int64{1, 2}, map[string]int64{}},
		"one not acknowledged":          {[]int64{1, 2, 3}, []int64{1, 2, 3}, map[string]int64{}},
		"one not acknowledged and late": {[]int64{3, 1, 2}, []int64{1, 2, 3}, map[string]int64{}},
		"twice":                         {[]int64{1, 2, 2}, []int64{1, 2}, map[string]int64{twice: 1}},
		"out of order":                  {[]int64{2, 1}, []int64{1, 2}, map[string]int64{order: 1}},
		"one without":                   {[]int64{1}, []int64{1, 2}, map[string]int64{without: 1}},
		"none":                          {nil, []int64{1, 2, 3}, map[string]int64{without: 3}},
	} {
		report := newReport()
		w := &watcher{worker: worker{application: &application{report: report}}, seen: map[string][]int64{"w": test.seen}}
		w.check(&inserter{worker: worker{name: "w", stream: written()}}, map[string][]int64{"w": test.inserted})
		assert.Equal(t, test.want, counted(report), name)
	}
}
