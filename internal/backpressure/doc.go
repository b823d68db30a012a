// Package backpressure holds what the driver's packages share to carry out the decisions of package retry: the policy of a client,
// with the clock that backoffs are measured by; the labels of overload errors; and the purpose of commands: for whom they are sent.
package backpressure
