package soak

import (
	"testing"

	"github.com/stretchr/testify/assert"
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
		c := &causal{worker: worker{name: "c", report: report}, written: test.written}
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
		(&auditor{worker{report: report}}).checkSum("x", test.sum, test.count)
		assert.Equal(t, test.want, counted(report), name)
	}
}

func TestSnapshotsFromBeforeTheAccounts(t *testing.T) {
	assert.True(t, tooEarly(0, 0))
	assert.False(t, tooEarly(0, accounts), "the money is gone")
	assert.False(t, tooEarly(0, 1))
	assert.False(t, tooEarly(accounts*initialBalance, accounts))
}

func TestFilesDiffer(t *testing.T) {
	one, other := &filer{seed: 1}, &filer{seed: 2}
	assert.Equal(t, one.content(1), one.content(1), "what a file has in it can be told again")
	assert.NotEqual(t, one.content(1), one.content(2))
	assert.NotEqual(t, one.content(1), other.content(1))
	assert.Len(t, one.content(1), fileSize)
}
