package sim

import "math"

// equilibrium is what a policy settles at under a steady overload, by arithmetic alone. It assumes that attempts are
// admitted independently of each other, and leaves out how replies are delayed.
type equilibrium struct{ goodput, commands float64 }

// steady returns the equilibrium at a load, with rejections that cost such a share of an operation.
func steady(p Policy, load, cost float64) equilibrium {
	// Too high a guess of the commands sent calls for fewer, and too low a one for more, so halving finds the balance.
	low, high := load, 6*load
	for range 60 {
		sent := (low + high) / 2
		if load*commands(p, load, remaining(sent, cost)/sent, remaining(sent, cost)) > sent {
			low = sent
		} else {
			high = sent
		}
	}
	return equilibrium{goodput: remaining(low, cost), commands: low / load}
}

// remaining is what is left of the capacity for commands that are served: those and the rejections are all the work there is.
func remaining(sent, cost float64) float64 {
	return min(sent, max(0, (1-cost*sent)/(1-cost)))
}

// commands returns how often an operation is sent when a share p of the attempts is admitted.
func commands(policy Policy, load, p, goodput float64) float64 {
	switch policy {
	case NoRetry:
		return 1
	case TwoRetries, FiveRetries:
		var sum float64
		for i := range policy.limit() + 1 {
			sum += math.Pow(1-p, float64(i))
		}
		return sum
	default:
		// Retries that fail cost a token, and each success earns a tenth; five are the limit nevertheless.
		byTokens := 1 + 0.1*goodput/max(1-p, 1e-9)/load
		return min(byTokens, commands(FiveRetries, load, p, goodput))
	}
}
