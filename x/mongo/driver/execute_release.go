package driver

// release ends the execution: the connection goes back to its pool, and so does the buffer.
func (ex *execution) release() {
	ex.releaseConnection()

	// Buffers in a pool should be of about the same size. One that is mostly empty, or larger than the largest wire
	// message, is left to the garbage collector.
	const maxMessageSize = 16 * 1024 * 1024
	if c := cap(*ex.wm); c < maxMessageSize && c/2 < len(*ex.wm) {
		memoryPool.Put(ex.wm)
	}
}

// releaseConnection gives the connection back, so that no attempt that fails holds one, neither during the backoff nor
// while the next server is selected.
func (ex *execution) releaseConnection() {
	if ex.conn != nil {
		_ = ex.conn.Close()
	}
	ex.srvr, ex.conn = nil, nil
}
