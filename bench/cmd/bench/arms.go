package main

// arm is a driver with options.
type arm struct {
	name      string
	base      string
	fork      bool
	options   string
	spent     bool // the tokens, before the load begins
	throttler bool // failsafe-go's PriorityThrottler around each call
}

const (
	adaptiveRetries    = "adaptiveRetries=true"
	adaptiveThrottling = "adaptiveThrottling=true"
)

// arms are all drivers: those of the oldest base, which knows nothing of overload, and of the newest, which retries twice.
type arms struct {
	noRetry, twoRetries, prioritized                 arm
	fork, full, spent, throttled                     arm
	newerFork, newerFull, newerSpent, newerThrottled arm
}

// newArms returns the arms with the oldest and the newest base.
func newArms(older, newer string) arms {
	a := arms{
		noRetry:    arm{name: "upstream " + older, base: older},
		twoRetries: arm{name: "upstream " + newer, base: newer},
		fork:       arm{name: "fork", base: older, fork: true},
		newerFork:  arm{name: "fork of " + newer, base: newer, fork: true},
	}
	a.prioritized = arm{name: a.noRetry.name + " in a PriorityThrottler", base: older, throttler: true}
	a.full = a.fork.with("adaptiveRetries", adaptiveRetries)
	a.spent = a.full.afterOverload()
	a.throttled = a.fork.with("adaptiveThrottling", adaptiveThrottling)
	a.newerFull = a.newerFork.with("adaptiveRetries", adaptiveRetries)
	a.newerSpent = a.newerFull.afterOverload()
	a.newerThrottled = a.newerFork.with("adaptiveThrottling", adaptiveThrottling)
	return a
}

func (a arm) with(name, options string) arm {
	a.name, a.options = a.name+", "+name, options
	return a
}

// afterOverload is the arm after its tokens were spent.
func (a arm) afterOverload() arm {
	a.name, a.spent = a.name+", tokens spent", true
	return a
}
