package retry

import (
	"math/rand"
	"strconv"
	"testing"
	"time"
)

var find, count = Command{"find", "db", "a"}, Command{"count", "db", "a"}

func TestExemptionSteps(t *testing.T) {
	type outcomes struct {
		command            Command
		accepted, rejected int
	}
	tests := []struct {
		name string
		then []outcomes
		want bool // find is exempt
	}{
		{name: "alone", then: []outcomes{{find, 100, 1}}, want: false},
		{name: "others are rejected", then: []outcomes{{count, 0, 20}, {find, 10, 0}}, want: true},
		{name: "it is rejected, too", then: []outcomes{{count, 0, 20}, {find, 10, 1}}, want: false},
		{name: "it is rejected once in 50", then: []outcomes{{count, 0, 20}, {find, 49, 1}}, want: true},
		{name: "chance explains it", then: []outcomes{{count, 50, 50}, {find, 6, 0}}, want: false},
		{name: "chance does not explain it", then: []outcomes{{count, 50, 50}, {find, 7, 0}}, want: true},
		{name: "others are accepted as well", then: []outcomes{{count, 99, 1}, {find, 100, 0}}, want: false},
		{name: "nothing is known of it", then: []outcomes{{count, 0, 20}}, want: false},
		{name: "its name is accepted in other collections", then: []outcomes{
			{count, 0, 20}, {Command{"find", "db", "b"}, 5, 0}, {Command{"find", "db", "c"}, 5, 0},
		}, want: true},
		{name: "other names are accepted in its collection", then: []outcomes{
			{Command{"count", "db", "b"}, 0, 20}, {Command{"aggregate", "db", "a"}, 5, 0}, {count, 5, 0},
		}, want: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			throttle, _ := newThrottle()
			throttle.Ended(Attempt{Command: tt.then[0].command}, true) // makes it count
			for _, o := range tt.then {
				repeat(o.accepted, func() { throttle.Ended(Attempt{Command: o.command}, false) })
				repeat(o.rejected, func() { throttle.Ended(Attempt{Command: o.command}, true) })
			}
			rule := DefaultThrottling().Exemption
			throttle.known.commands.trials = rule.AllTrials
			if got := throttle.known.commands.exempts(find, throttle.now(), rule); got != tt.want {
				t.Errorf("exempt is %v, want %v", got, tt.want)
			}
		})
	}
}

// TestExemptionTrials: at the beginning, some attempts of some commands are sent whatever is known.
func TestExemptionTrials(t *testing.T) {
	throttle, clock := newThrottle()
	overload := func() {
		repeat(99, func() { throttle.Ended(Attempt{Command: count}, true) })
		sent := 0
		for i := 0; i < 100; i++ {
			command := Command{"find", "db", strconv.Itoa(i)}
			trials := 0
			for j := 0; j < 10; j++ {
				if !throttle.HoldsBack(Attempt{Command: command}, 0) {
					trials++
				}
			}
			if sent += trials; trials > 4 {
				t.Errorf("of a command %d attempts were sent", trials)
			}
		}
		if sent != 16 {
			t.Errorf("%d attempts were sent, want 16", sent)
		}
	}
	overload()
	clock.advance(time.Minute)
	overload()
}

// TestExemptionIsBounded: of commands without end little is remembered.
func TestExemptionIsBounded(t *testing.T) {
	throttle, clock := newThrottle()
	rule := DefaultThrottling().Exemption
	for i := 0; i < 2560; i++ {
		a := Attempt{Command: Command{"find", "db", strconv.Itoa(i)}}
		throttle.Ended(a, true)
		throttle.HoldsBack(a, 0)
	}
	known := &throttle.known.commands
	if n := len(known.command); n != 256 {
		t.Errorf("%d commands are remembered, want 256", n)
	}
	for i := 0; i < 2560; i++ {
		throttle.Ended(Attempt{Command: Command{Name: "find" + strconv.Itoa(i)}}, true)
	}
	if n := len(known.command); n != 512 {
		t.Errorf("%d commands and names are remembered, want 512", n)
	}
	if known.of(Command{"find", "db", "0"}, clock.time, rule) == nil ||
		known.of(Command{"find", "db", "2559"}, clock.time, rule) != nil {
		t.Error("the last commands are remembered instead of the first")
	}
	if !throttle.HoldsBack(Attempt{Command: Command{"find", "db", "2559"}}, 0) {
		t.Error("a command of which nothing is known is sent for a trial")
	}

	for i := 0; i < 31; i++ { // the first commands are not seen any more, but for one
		clock.advance(time.Second)
		throttle.Ended(Attempt{Command: Command{"find", "db", "0"}}, true)
	}
	throttle.Ended(Attempt{Command: Command{"find", "db", "2559"}}, true)
	if len(known.command) != 5 || known.command[Command{"find", "db", "2559"}] == nil { // and by name, and by collection
		t.Errorf("%v are remembered, want two commands of one name", known.command)
	}
}

// TestExemptionByNameAfterMany: what is accepted is soon sent, by its name, although too many collections to remember came before.
func TestExemptionByNameAfterMany(t *testing.T) {
	throttle, clock := newThrottle()
	random := rand.New(rand.NewSource(1))
	refused := 0
	for i := 0; i < 4000; i++ {
		clock.advance(2 * time.Millisecond)
		collection := strconv.Itoa(random.Intn(300))
		attempt(throttle, random, Attempt{Command: Command{"find", "db", collection}, First: true}, 0)
		insert := Attempt{Command: Command{"insert", "db", collection}, First: true}
		if i > 1000 && !attempt(throttle, random, insert, 1) && i > 3000 {
			refused++
		}
	}
	if refused > 10 {
		t.Errorf("%d of 1000 inserts were refused", refused)
	}
}

// TestExemptionOfOneOfMany: whatever share of the commands is always rejected, the others are sent after the first second.
func TestExemptionOfOneOfMany(t *testing.T) {
	for _, part := range []int{2, 4, 10, 20} {
		throttle, clock := newThrottle()
		random := rand.New(rand.NewSource(1))
		refused, others := 0, 0
		for i := 0; i < 2000; i++ {
			clock.advance(5 * time.Millisecond)
			// A rejected command is retried five times, with and without others between.
			if random.Intn(part) == 0 {
				repeat(6, func() { attempt(throttle, random, Attempt{Command: count}, 0) })
				continue
			}
			sent := attempt(throttle, random, Attempt{Command: find, First: true}, 1)
			if i > 200 {
				others++
				if !sent {
					refused++
				}
			}
		}
		if share := float64(refused) / float64(others); share > 0.01 {
			t.Errorf("1/%d is always rejected: of the others %.3f were refused, want at most 0.01", part, share)
		}
	}
}

// TestExemptionIsRareInAnOverload: where all collections are rejected alike, hardly any is exempt.
func TestExemptionIsRareInAnOverload(t *testing.T) {
	const collections = 20
	throttle, clock := newThrottle()
	random := rand.New(rand.NewSource(1))
	rule := DefaultThrottling().Exemption
	exempt, all := 0, 0
	var tokens float64
	for i := 0; i < 30_000; i++ {
		clock.advance(2 * time.Millisecond)
		if tokens += 0.5; tokens > 20 {
			tokens = 20
		}
		a := Attempt{Command: Command{"find", "db", strconv.Itoa(random.Intn(collections))}, First: true}
		accepts := 0.0
		if tokens >= 1 {
			accepts = 1
		}
		if attempt(throttle, random, a, accepts) && accepts == 1 {
			tokens--
		}
		if i > 1000 {
			all++
			if throttle.known.commands.exempts(a.Command, clock.time, rule) {
				exempt++
			}
		}
	}
	if share := float64(exempt) / float64(all); share > 0.05 {
		t.Errorf("%.3f of the attempts were exempt, want at most 0.05", share)
	}
}
