package mongo

import (
	"errors"
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// TestIsTimeoutOfErrors is about the types of errors that a code can be in, alone and wrapped.
func TestIsTimeoutOfErrors(t *testing.T) {
	for _, code := range []int{50, 51} {
		concern := WriteConcernError{Code: code}
		for _, err := range []error{
			CommandError{Code: int32(code)},
			WriteError{Code: code},
			concern,
			WriteException{WriteErrors: WriteErrors{{Code: 1}, {Code: code}}},
			WriteException{WriteConcernError: &concern},
			BulkWriteException{WriteErrors: []BulkWriteError{{WriteError: WriteError{Code: code}}}},
			BulkWriteException{WriteConcernError: &concern},
			ClientBulkWriteException{WriteError: &WriteError{Code: code}},
			ClientBulkWriteException{WriteConcernErrors: []WriteConcernError{concern}},
			ClientBulkWriteException{WriteErrors: map[int]WriteError{3: {Code: code}}},
			driver.WriteCommandError{WriteErrors: driver.WriteErrors{{Code: int64(code)}}},
			driver.WriteCommandError{WriteConcernError: &driver.WriteConcernError{Code: int64(code)}},
		} {
			for _, err := range []error{
				err, fmt.Errorf("wrapped: %w", err), CommandError{Code: 1, Wrapped: err}, severalErrors{errors.New("another"), err},
				severalErrors{errors.New("another"), severalErrors{errors.New("and another"), err}},
			} {
				assert.Equal(t, code == 50, IsTimeout(err), "%T: %v", err, err)
			}
		}
	}
	assert.False(t, IsTimeout(nil))
}

// severalErrors is what errors.Join makes.
type severalErrors []error

func (errs severalErrors) Error() string   { return fmt.Sprint([]error(errs)) }
func (errs severalErrors) Unwrap() []error { return errs }
