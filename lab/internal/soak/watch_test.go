package soak

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

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
		w := &watcher{worker: worker{report: report}, seen: map[string][]int64{"w": test.seen}}
		w.check([]*inserter{{worker: worker{name: "w", stream: written()}}}, map[string][]int64{"w": test.inserted})
		assert.Equal(t, test.want, counted(report), name)
	}
}
