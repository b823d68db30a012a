package mongo

// IsTimeout reports whether a timeout caused the error or an error that it wraps. That is a deadline on the client's side, a timeout of a
// socket, or the server's error 50, MaxTimeMSExpired: as the error of a command, in its writeErrors, or as its writeConcernError
// (client-side-operations-timeout.md, "Error Transformations").
//
//fork:wrap error 50 counts in writeErrors and writeConcernError, too
func IsTimeout(err error) bool {
	return upstreamIsTimeout(err) || anyError(err, exceedsMaxTime)
}
