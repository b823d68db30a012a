package goodput

import (
	"slices"
	"time"
)

// sharedTime is the duration of an overload shared by that many clients: too short to spend the tokens of ten.
const sharedTime = 6 * time.Second

// LanguageScenarios returns the scenarios of drivers of other languages, in the order in which they are run. Those take so much
// of the processors that they would disturb the others, and have servers that are slower. Beside them is the fork with either
// option, and the driver that does not retry as the common measure.
func LanguageScenarios() []Scenario {
	all := slices.Concat(
		[]Scenario{lasting(0.1, 1.1), lasting(0.1, 2), lasting(0.1, 4), lasting(0.02, 10)},
		spikes(), []Scenario{flap()}, bursts()[:severalSeeds], shared(sharedTime)[:3], members(),
	)
	for i := range all {
		all[i] = all[i].limitedTo(mostInterpreted)
		all[i].Arms = languageArms(all[i].Kind)
	}
	return all
}

// languageArms are the arms for a kind of scenario.
func languageArms(kind string) []string {
	fork := Adaptive
	if kind == Sustained {
		fork = Drained
	}
	return []string{NoRetry, fork, Throttling, PyMongo, NodeDriver}
}

// stormOf is a start of many clients at once, one arm after the other.
func stormOf(clients int, arms ...string) Storm {
	return Storm{Clients: clients, PerSecond: 100, Queue: 50, Limit: 30 * time.Second, Arms: arms}
}

// NewStorm returns the storm of the Go drivers, NewLanguageStorm that of drivers of other languages.
func NewStorm(clients int) Storm {
	return stormOf(clients, NoRetry, TwoRetries, Fork, Adaptive, Throttling)
}

func NewLanguageStorm(clients int) Storm { return stormOf(clients, languageArms("")...) }
