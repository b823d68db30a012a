package retry

import (
	"fmt"
	"math"
	"math/rand"
	"reflect"
	"testing"
	"time"
)

// floorStep is a number of attempts that all are the first of their commands, and the floor after them.
type floorStep struct {
	attempts  int
	every     time.Duration // 100 ms if it is 0
	accepted  float64       // share, evenly
	usual     float64       // share of rejections, a tenth if it is 0
	inClasses bool
	soon      bool    // the overload does not last yet
	again     bool    // another overload begins
	want      float64 // the floor
	givenUp   float64 // of the reserve
}

type floorCase struct {
	name  string
	steps []floorStep
}

// A rejection is evidence of 1-0.1-0.02, an accepted attempt of -0.1-0.02. If every fourth attempt is rejected, beginning with the first,
// four are 0.52; so the 89th makes it more than 12: 22 * 0.52 + 0.88. Quick evidence is 1-0.35 and -0.35: seven rejections make it more
// than 4.
func floorCases() []floorCase {
	const ms = time.Millisecond
	return []floorCase{
		{name: "at first", steps: []floorStep{{want: 0.01}}},
		{name: "not while holding back helps", steps: []floorStep{{attempts: 3000, accepted: 0.9, want: 0.01}}},
		{name: "by evidence, a half in a second", steps: []floorStep{
			{attempts: 88, accepted: 0.75, want: 0.01}, {attempts: 10, accepted: 0.75, want: 0.51},
		}},
		{name: "what is sent at once counts as one attempt", steps: []floorStep{ // 25 of them
			{attempts: 2200, every: ms, accepted: 0.75, want: 0.01}, {attempts: 500, every: ms, accepted: 0.75, want: 0.208},
		}},
		{name: "what is accepted counts little if K has grown", steps: []floorStep{ // 0.48, -0.42
			{attempts: 384, accepted: 0.5, usual: 0.5, want: 0.01}, {attempts: 10, accepted: 0.5, usual: 0.5, want: 0.51},
		}},
		{name: "soon by much", steps: []floorStep{{attempts: 6, want: 0.01}, {attempts: 10, want: 0.51}}},
		{name: "not before the overload lasts", steps: []floorStep{{attempts: 100, soon: true, want: 0.01}}},
		{name: "at once when it does", steps: []floorStep{{attempts: 100, soon: true, want: 0.01}, {attempts: 10, want: 0.51}}},
		{name: "what comes before that is evidence above 35 %", steps: []floorStep{
			{attempts: 150, accepted: 0.6, soon: true, want: 0.01}, {attempts: 2, want: 0.11},
		}},
		{name: "and not below", steps: []floorStep{
			{attempts: 150, accepted: 0.7, soon: true, want: 0.01}, {attempts: 2, want: 0.01},
		}},
		{name: "quick evidence does not count once holding back has helped", steps: []floorStep{
			{attempts: 10, accepted: 1, want: 0.01}, {attempts: 9, want: 0.01},
		}},
		{name: "in another overload it does", steps: []floorStep{
			{attempts: 10, accepted: 1, want: 0.01}, {attempts: 11, again: true, soon: true, want: 0.01},
			{attempts: 1, want: 0.06},
		}},
		{name: "more slowly above 0.62", steps: []floorStep{
			{attempts: 7, want: 0.06}, {attempts: 12, want: 0.62}, {attempts: 12, want: 0.82},
		}},
		{name: "it falls if fewer than 0.87 times as many are accepted, of the last 50", steps: []floorStep{
			{attempts: 90, accepted: 0.75, want: 0.11}, {attempts: 8, accepted: 0.4, want: 0.51},
			{attempts: 10, accepted: 0.4, want: 0.01},
		}},
		{name: "then it takes ten times the evidence", steps: []floorStep{
			{attempts: 90, accepted: 0.75, want: 0.11}, {attempts: 18, accepted: 0.4, want: 0.01},
			{attempts: 800, accepted: 0.75, want: 0.01}, {attempts: 200, accepted: 0.75, want: 1},
		}},
		{name: "until another overload begins", steps: []floorStep{
			{attempts: 90, accepted: 0.75, want: 0.11}, {attempts: 18, accepted: 0.4, want: 0.01},
			{attempts: 200, accepted: 0.75, again: true, want: 1},
		}},
		{name: "not if it is 0.92 times", steps: []floorStep{
			{attempts: 90, accepted: 0.75, want: 0.11}, {attempts: 100, accepted: 0.69, want: 1},
		}},
		{name: "once it is 1, only if less than half is", steps: []floorStep{
			{attempts: 180, accepted: 0.75, want: 1}, {attempts: 100, accepted: 0.5, want: 1},
			{attempts: 60, accepted: 0.2, want: 0.01},
		}},
		{name: "after quick evidence, too, and it keeps to 0.62", steps: []floorStep{
			{attempts: 45, accepted: 0.5, soon: true, want: 0.01}, {attempts: 13, accepted: 0.5, want: 0.62},
			{attempts: 30, accepted: 0.3, want: 0.62}, {attempts: 28, want: 0.01},
		}},
		{name: "if less than a fifth was accepted, only seven seconds later", steps: []floorStep{
			{attempts: 19, accepted: 0.1, want: 0.62}, {attempts: 56, want: 1}, {attempts: 3, want: 0.01},
		}},
		{name: "if a seventh was, too", steps: []floorStep{{attempts: 20, accepted: 0.2, want: 0.62}, {attempts: 50, want: 0.62}}},
		{name: "if more was, at once", steps: []floorStep{{attempts: 23, accepted: 0.3, want: 0.62}, {attempts: 27, want: 0.01}}},
		{name: "but not if more are accepted once it has risen", steps: []floorStep{
			{attempts: 19, want: 0.62}, {attempts: 200, accepted: 0.7, want: 1},
		}},
		{name: "then, if holding back helps, it stays down", steps: []floorStep{
			{attempts: 77, want: 0.01}, {attempts: 100, accepted: 0.9, want: 0.01},
		}},
		{name: "then, if it does not, it rises as soon as at first", steps: []floorStep{
			{attempts: 77, want: 0.01}, {attempts: 6, want: 0.01}, {attempts: 10, want: 0.51},
		}},
		{name: "it falls once half of the evidence is gone", steps: []floorStep{
			{attempts: 180, accepted: 0.75, want: 1}, {attempts: 240, accepted: 1, want: 0.01},
		}},
		{name: "before it rises, the reserve is given up, and there is new evidence", steps: []floorStep{
			{attempts: 16, inClasses: true, want: 0.01, givenUp: 0.5}, {attempts: 10, inClasses: true, want: 0.01, givenUp: 1},
			{attempts: 3, inClasses: true, want: 0.01, givenUp: 1}, {attempts: 10, inClasses: true, want: 0.51, givenUp: 1},
		}},
		{name: "the reserve comes back after evidence that was not quick, too", steps: []floorStep{
			{attempts: 1, accepted: 1, want: 0.01}, {attempts: 115, accepted: 0.75, inClasses: true, want: 0.01, givenUp: 0.85},
			{attempts: 60, accepted: 1, inClasses: true, want: 0.01},
		}},
		{name: "the reserve comes back", steps: []floorStep{
			{attempts: 26, inClasses: true, want: 0.01, givenUp: 1}, {attempts: 36, accepted: 1, inClasses: true, want: 0.01},
		}},
	}
}

// failure returns what is wrong of a case with a rule, or nothing.
func (c floorCase) failure(rule Floor) string {
	floor := rule.start()
	for i, s := range c.steps {
		if s.again {
			floor.again(rule)
		}
		s.take(&floor, rule)
		if math.Abs(floor.share-s.want) > 0.001 || math.Abs(1-floor.reserve-s.givenUp) > 0.001 {
			return fmt.Sprintf("step %d: the floor is %v, want %v; %v of the reserve is given up, want %v", i+1,
				floor.share, s.want,
				1-floor.reserve, s.givenUp)
		}
	}
	return ""
}

func (s floorStep) take(floor *floorState, rule Floor) {
	if s.every == 0 {
		s.every = 100 * time.Millisecond
	}
	if s.usual == 0 {
		s.usual = 0.1
	}
	due := 1e-9
	for i := 0; i < s.attempts; i++ {
		due += s.accepted
		accepted := due >= 1
		if accepted {
			due--
		}
		floor.learn(rule, sample{accepted: accepted, first: true, usual: s.usual, lasts: !s.soon}, s.every)
		if !s.soon {
			floor.move(rule, s.inClasses, s.every)
		}
	}
}

func TestFloorSteps(t *testing.T) {
	for _, tt := range floorCases() {
		t.Run(tt.name, func(t *testing.T) {
			if failure := tt.failure(defaultFloor()); failure != "" {
				t.Error(failure)
			}
		})
	}
}

// TestFloorNumbers: the cases of TestFloorSteps notice it if any number of the floor's were half or twice what it is. The Reserve is part
// of what is sent, see TestThrottleReserve.
func TestFloorNumbers(t *testing.T) {
	numbers := reflect.TypeOf(Floor{})
	for i := 0; i < numbers.NumField(); i++ {
		for _, factor := range []float64{0.5, 2} {
			name := numbers.Field(i).Name
			if name == "Reserve" {
				continue
			}
			rule := defaultFloor()
			switch number := reflect.ValueOf(&rule).Elem().Field(i); number.Kind() {
			case reflect.Int64:
				number.SetInt(int64(factor * float64(number.Int())))
			default:
				number.SetFloat(factor * number.Float())
			}
			noticed := 0
			for _, tt := range floorCases() {
				if tt.failure(rule) != "" {
					noticed++
				}
			}
			if noticed == 0 {
				t.Errorf("no case notices %v times the %s", factor, name)
			}
		}
	}
}

// TestThrottleFloor: of the first attempts at a server that rejects everything, the least floor is sent, and once it is clear that
// holding back does not help, most.
func TestThrottleFloor(t *testing.T) {
	throttle, clock := newThrottle()
	random := rand.New(rand.NewSource(1))
	sent := make([]int, 30)
	for i := range sent {
		for j := 0; j < 1000; j++ {
			clock.advance(time.Millisecond)
			if attempt(throttle, random, Attempt{First: true}, 0) {
				sent[i]++
			}
		}
	}
	if sent[2] > 50 || sent[4] < 550 || sent[29] < 550 {
		t.Errorf("in each second %v of 1000 were sent", sent)
	}
}
