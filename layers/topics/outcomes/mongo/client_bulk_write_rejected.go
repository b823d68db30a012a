//fork:base >=v2.6.0

package mongo

// rejectedClientBulkWrite returns the error of a Client.BulkWrite of which nothing was executed: that of its command.
func rejectedClientBulkWrite(err error) error { return err }
