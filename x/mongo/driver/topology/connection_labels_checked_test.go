//fork:base >=v2.7.0

package topology

import "go.mongodb.org/mongo-driver/v2/x/mongo/driver"

// labelled reports whether the error of a connection gets the labels of a retryable overload error.
func labelled(err error) bool {
	labeled, ok := wrapConnectionError(ConnectionError{Wrapped: err, init: true}).(driver.Error)
	return ok && labeled.HasErrorLabel(driver.ErrSystemOverloadedError) && labeled.HasErrorLabel(driver.ErrRetryableError)
}
