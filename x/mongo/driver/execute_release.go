package driver

// release ends the execution: the connection and the buffer go back to their pools.
func (ex *operationRun) release() {
	ex.releaseConnection()

	// Buffers in a pool should have similar sizes. The garbage collector gets those that are mostly empty, or larger than the
	// largest wire message.
	const maxMessageSize = 16 * 1024 * 1024
	if c := cap(*ex.wm); c < maxMessageSize && c/2 < len(*ex.wm) {
		memoryPool.Put(ex.wm)
	}
}

// releaseConnection returns the connection, so that a failed attempt holds none, neither during the backoff nor while the next
// server is selected.
func (ex *operationRun) releaseConnection() {
	if ex.conn != nil {
		_ = ex.conn.Close()
	}
	ex.srvr, ex.conn = nil, nil
}
