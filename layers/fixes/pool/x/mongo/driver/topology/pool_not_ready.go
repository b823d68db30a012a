package topology

import "fmt"

// Error implements the error interface. A pool that was never ready has not been cleared.
//
//fork:wrap a pool is paused until its server is known, and the error said that an operation had failed with <nil>
func (pce poolClearedError) Error() string {
	if pce.err == nil {
		return fmt.Sprintf("connection pool for %v is not ready: no check of the server has succeeded yet", pce.address)
	}
	return pce.upstreamError()
}
