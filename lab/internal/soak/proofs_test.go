package soak

import (
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSessions(t *testing.T) {
	const unwritten, back, repeats = "sessions that do not read their writes", "sessions whose reads go back",
		"cursors that repeat themselves"
	for name, test := range map[string]struct {
		first int64
		reads [][]int64
		want  map[string]int64
	}{
		"its own writes":          {0, [][]int64{{1, 2}}, map[string]int64{}},
		"somebody's late attempt": {0, [][]int64{{1, 2, 3}, {1, 2, 3}}, map[string]int64{}},
		"what is not asked for":   {2, [][]int64{{2}}, map[string]int64{}},
		"not its own write":       {0, [][]int64{{2}}, map[string]int64{unwritten: 1}},
		"back in time":            {0, [][]int64{{1, 2, 3}, {1, 2}}, map[string]int64{back: 1}},
		"twice":                   {0, [][]int64{{1, 2, 2}}, map[string]int64{repeats: 1}},
		"out of order":            {0, [][]int64{{2, 1}}, map[string]int64{repeats: 1}},
	} {
		report := newReport()
		c := &chain{worker: worker{application: &application{report: report}}, known: map[int64]bool{1: false, 2: false}}
		for _, found := range test.reads {
			c.judge(test.first, found)
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

func TestDialerCountsOpenConnections(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	d := &dialer{}
	conn, err := d.DialContext(t.Context(), "tcp", listener.Addr().String())
	require.NoError(t, err)
	assert.EqualValues(t, 1, d.open.Load())
	require.NoError(t, conn.Close())
	assert.Error(t, conn.Close(), "a second time")
	assert.EqualValues(t, 0, d.open.Load(), "is closed once")
	require.NoError(t, listener.Close())
	_, err = d.DialContext(t.Context(), "tcp", listener.Addr().String())
	assert.Error(t, err)
	assert.EqualValues(t, 0, d.open.Load(), "was never open")
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
		w := &watcher{worker: worker{application: &application{report: report}}, seen: test.seen}
		w.check(written(), test.inserted)
		assert.Equal(t, test.want, counted(report), name)
	}
}
