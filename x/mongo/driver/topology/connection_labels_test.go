//fork:base <v2.7.0

package topology

import ()

// labelled reports whether the error of a connection gets the labels of a retryable overload error.
func labelled(err error) bool { return mayBeOverload(ConnectionError{Wrapped: err}) }
