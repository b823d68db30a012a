//fork:base >=v2.7.0

package topology

// wrapConnectionError gives the error the labels of a retryable overload error unless an overloaded server cannot have caused
// it (connection-monitoring-and-pooling.md, "Backpressure-enabled").
//
//fork:wrap labelled errors are retried, which must not happen for a refused hello or a proxy that does not connect
func wrapConnectionError(connErr ConnectionError) error {
	if cannotBeOverload(connErr.Wrapped) {
		return connErr
	}
	return upstreamWrapConnectionError(connErr)
}

// labelled returns the error as it is: connect has added the labels.
func (*connection) labelled(connErr ConnectionError) ConnectionError { return connErr }
