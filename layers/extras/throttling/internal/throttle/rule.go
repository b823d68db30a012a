package throttle

import "time"

// The numbers of the rule, each with what it is for.
const (
	// slack is K: up to a fifth of rejections withholds nothing, to probe for more.
	slack = 1.25
	// exponent says how much a client withholds: the more, the closer the load comes to what the server can serve.
	exponent = 4.5
	// memory is the time in which the weight of an attempt falls to 1/e. So long after the last rejection, all but tokens is forgotten.
	memory = 10 * time.Second
	// patience is how long K stays constant after a rejection.
	patience = 500 * time.Millisecond
	// second is how long K then takes to grow by e, after which an overload without pressure has ended, and something is sent anyway.
	// So old is an overload in which clients without the option begin to withhold retries.
	second = time.Second
	// some is the number of attempts that have to be accepted in that second.
	some = 3
	// few is the number of first attempts from which on a client knows enough to withhold some.
	few = 6
	// tokenOfSuccess is the part of a retry that an accepted attempt pays for.
	tokenOfSuccess = 0.1
	// mostTokens is the number of retries that can be saved up: all that two commands may have, with five retries each.
	mostTokens = 10
	// rest is the time without a rejection after which there are as many.
	rest = time.Minute
	// brief is how long an overload is taken for a burst: a retry that is withheld later fails its command.
	brief = 3 * time.Second
)
