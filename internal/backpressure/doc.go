// Package backpressure holds what the driver's packages share to carry out the decisions of package retry: the clock that backoffs
// are measured by, the labels of overload errors, and the purpose of commands: for whom they are sent.
package backpressure
