package overload

import (
	"fmt"
	"time"
)

// Point is what happened to the operations that were due in an interval of a run, around a time: how many percent succeeded, and the median
// of their latencies, in seconds.
type Point struct {
	At             time.Duration
	Success, Delay float64
}

// addTimeline adds the points of a run to its result.
func (r Result) addTimeline(intervals []tally) {
	for i := range intervals {
		r[successAt(i)], r[delayAt(i)] = 100-intervals[i].errors(), intervals[i].quantile(0.5)
	}
}

// Timeline returns the points of a result of a load with bursts.
func (r Result) Timeline() (points []Point) {
	for i := 0; ; i++ {
		success, measured := r[successAt(i)]
		if !measured {
			return points
		}
		points = append(points, Point{At: time.Duration(i)*interval + interval/2, Success: success, Delay: r[delayAt(i)]})
	}
}

func successAt(i int) string { return fmt.Sprintf("success of interval %d", i) }
func delayAt(i int) string   { return fmt.Sprintf("p50 of interval %d", i) }
