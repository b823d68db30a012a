package main

import "image/color"

// arm is a driver with options.
type arm struct {
	name      string
	base      string
	fork      bool
	options   string
	spent     bool       // the tokens, before the load begins
	throttler bool       // failsafe-go's PriorityThrottler around each call
	colour    color.RGBA // on all pictures
	dashed    bool
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

// newArms returns the arms with the oldest and the newest base. The colours are dark enough on white, and distinct for the
// colour-blind (Okabe and Ito).
func newArms(older, newer string) arms {
	a := arms{
		noRetry:    arm{name: "upstream " + older, base: older, colour: color.RGBA{0x00, 0x00, 0x00, 0xFF}},
		twoRetries: arm{name: "upstream " + newer, base: newer, colour: color.RGBA{0xB8, 0x7A, 0x00, 0xFF}},
		fork:       arm{name: "fork", base: older, fork: true, colour: color.RGBA{0xD5, 0x5E, 0x00, 0xFF}},
		newerFork:  arm{name: "fork of " + newer, base: newer, fork: true, colour: color.RGBA{0x80, 0x80, 0x80, 0xFF}},
	}
	a.prioritized = a.noRetry
	a.prioritized.name, a.prioritized.throttler = a.noRetry.name+" in a PriorityThrottler", true

	a.full = a.fork.with("adaptiveRetries", adaptiveRetries, color.RGBA{0xB0, 0x50, 0x8A, 0xFF})
	a.spent = a.full.afterOverload()
	a.throttled = a.fork.with("adaptiveThrottling", adaptiveThrottling, color.RGBA{0x00, 0x72, 0xB2, 0xFF})
	a.newerFull = a.newerFork.with("adaptiveRetries", adaptiveRetries, color.RGBA{0xD0, 0x90, 0xB8, 0xFF})
	a.newerSpent = a.newerFull.afterOverload()
	a.newerThrottled = a.newerFork.with("adaptiveThrottling", adaptiveThrottling, color.RGBA{0x00, 0x9E, 0x73, 0xFF})
	return a
}

func (a arm) with(name, options string, colour color.RGBA) arm {
	a.name, a.options, a.colour = a.name+", "+name, options, colour
	return a
}

// afterOverload is the arm after its tokens were spent.
func (a arm) afterOverload() arm {
	a.name, a.spent, a.dashed = a.name+", tokens spent", true, true
	return a
}
