package backpressure

// Purpose says whether the command opens a cursor that is not read to its end.
//
//fork:extend such a cursor was known to nobody, and behind a load balancer kept its connection
type Purpose struct {
	// FirstBatch is whether the caller reads only the first batch of a cursor that the command opens.
	FirstBatch bool
}
