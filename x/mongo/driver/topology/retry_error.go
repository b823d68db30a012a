package topology

import "go.mongodb.org/mongo-driver/v2/x/mongo/driver"

var _ driver.RetryDescriber = ConnectionError{}

// DescribeRetries implements the driver.RetryDescriber interface. Only an error of establishing a connection can be that of a
// command that was retried; any other stays comparable to what it was.
func (e ConnectionError) DescribeRetries(retries *driver.RetryError) error {
	if e.server != "" {
		e.retries = retries
	}
	return e
}

// As lets errors.As find the driver.RetryError.
func (e ConnectionError) As(target any) bool { return driver.RetryErrorAs(e.retries, target) }
