package mongo

import "go.mongodb.org/mongo-driver/v2/x/mongo/driver"

// exceedsMaxTime is for IsTimeout. It reports whether the error itself, or one that the server sent with it, is MaxTimeMSExpired
// (client-side-operations-timeout.md, "Error Transformations").
func exceedsMaxTime(err error) bool {
	const maxTimeMSExpired = 50
	var codes []int
	switch e := err.(type) {
	case ServerError:
		codes = e.ErrorCodes()
	case WriteConcernError:
		codes = []int{e.Code}
	case ClientBulkWriteException:
		codes = codesOfClientBulkWrite(e)
	case driver.WriteCommandError: // of methods that return it as it is
		codes = codesOfWriteCommand(e)
	}
	for _, code := range codes {
		if code == maxTimeMSExpired {
			return true
		}
	}
	return false
}

func codesOfClientBulkWrite(e ClientBulkWriteException) (codes []int) {
	if e.WriteError != nil {
		codes = append(codes, e.WriteError.Code)
	}
	for _, concern := range e.WriteConcernErrors {
		codes = append(codes, concern.Code)
	}
	for _, write := range e.WriteErrors {
		codes = append(codes, write.Code)
	}
	return codes
}

func codesOfWriteCommand(e driver.WriteCommandError) (codes []int) {
	if e.WriteConcernError != nil {
		codes = append(codes, int(e.WriteConcernError.Code))
	}
	for _, write := range e.WriteErrors {
		codes = append(codes, int(write.Code))
	}
	return codes
}
