package servererror

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
)

func TestLabels(t *testing.T) {
	const (
		read    = `{"find": "c"}`
		write   = `{"insert": "c", "txnNumber": 1}`
		inTxn   = `{"insert": "c", "txnNumber": 1, "autocommit": false}`
		commit  = `{"commitTransaction": 1, "txnNumber": 1, "autocommit": false}`
		abort   = `{"abortTransaction": 1, "txnNumber": 1, "autocommit": false}`
		noTxn   = 251
		primary = 10107
	)
	retryable, transient := []string{"RetryableWriteError"}, []string{"TransientTransactionError"}
	for _, tt := range []struct {
		command string
		code    int32
		wcCode  int32
		want    []string
	}{
		{read, primary, 0, nil},
		{`{"insert": "c"}`, primary, 0, nil},
		{write, primary, 0, retryable},
		{write, 11600, 0, retryable},
		{write, 2, 0, nil},
		{write, 112, 0, nil},
		{write, 0, 91, retryable},
		{write, 0, 64, nil},
		{inTxn, primary, 0, transient},
		{inTxn, 112, 0, transient},
		{inTxn, 246, 0, transient},
		{inTxn, noTxn, 0, transient},
		{inTxn, 2, 0, nil},
		{commit, primary, 0, retryable},
		{abort, 6, 0, retryable},
		{commit, 0, 91, retryable},
		{commit, 112, 0, transient},
		{commit, noTxn, 0, transient},
		{commit, noTxn, 64, nil},
		{commit, 50, 0, nil},
	} {
		var command bson.Raw
		require.NoError(t, bson.UnmarshalExtJSON([]byte(tt.command), false, &command))
		assert.Equal(t, tt.want, Labels(command, tt.code, tt.wcCode, false), "%s with %d and %d", tt.command, tt.code, tt.wcCode)
		if slices.Equal(tt.want, retryable) {
			tt.want = nil
		}
		assert.Equal(t, tt.want, Labels(command, tt.code, tt.wcCode, true), "of a router")
	}
}
