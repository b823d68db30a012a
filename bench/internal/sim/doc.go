// Package sim is a discrete-event simulation of clients that share overloaded servers under different retry policies. It
// takes the curves of the measurements to loads and fleets that no small machine can run.
//
// The decisions are not modelled: each command has an Execution of mongofork/internal/retry, the code that the fork runs,
// with its backoff and its token bucket. Modelled are the load (Poisson arrivals that do not wait for replies) and the
// servers (one queue of work each, a known capacity, and a cost of each rejection). The network takes no time.
//
// A simulation is a function of its Scenario: the same seed gives the same figures, on machines of one architecture.
package sim
