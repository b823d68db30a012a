//fork:base >=v2.10.0

package mongo

import (
	"errors"
	"sort"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// TestClientBulkWriteExceptionsAgree is about the methods of an exception of three commands, each of which ends in another way: what a
// method finds, the others find, too.
func TestClientBulkWriteExceptionsAgree(t *testing.T) {
	ends := map[string]commandEnd{}
	for _, end := range commandEnds {
		ends[end.name] = end
	}
	for name, tt := range map[string]struct {
		plan   []string
		codes  []int
		labels []string
		first  int32 // the code of the CommandError that errors.As finds
	}{
		"a write concern, a duplicate, a rejection": {plan: []string{"concern 64", "duplicate", "rejected"},
			codes: []int{64, 462, 11000}, labels: []string{"Unsure", driver.ErrSystemOverloadedError}, first: 462},
		"a retry is rejected, and the next command fails": {plan: []string{"rejected, concern 91, rejected", "error 13"},
			codes: []int{13, 91, 462}, labels: []string{driver.ErrSystemOverloadedError}, first: 462},
		"the results are rejected": {plan: []string{"duplicate", "results rejected"},
			codes: []int{462, 11000}, labels: []string{driver.ErrSystemOverloadedError}, first: 462},
		"two write concerns": {plan: []string{"concern 64", "concern 91"}, codes: []int{64, 91}, labels: []string{"Unsure"}},
	} {
		m, s := newModel(t)
		for _, end := range tt.plan {
			m.plan = append(m.plan, ends[end])
		}
		_, err := clientBulkWriteOf(false)(bgCtx, scriptColl(t, s), 3*scripted.MaxBatchCount, false)
		failed, ok := err.(ClientBulkWriteException)
		require.True(t, ok, "%s: %T", name, err)
		codes := failed.ErrorCodes()
		sort.Ints(codes)
		assert.Equal(t, tt.codes, codes, name)
		assert.Equal(t, len(codes), len(ErrorCodes(err)), name)
		assert.Equal(t, tt.labels, failed.Labels, name)
		for _, label := range tt.labels {
			assert.True(t, failed.HasErrorLabel(label), "%s: %s", name, label)
		}
		assert.False(t, failed.HasErrorLabel(driver.ErrRetryableError), name)
		var commandErr CommandError
		assert.Equal(t, tt.first != 0, errors.As(err, &commandErr) && commandErr.Code == tt.first, "%s: %v", name, commandErr)
		assert.Equal(t, tt.first != 0, failed.WriteError != nil, name)
		assert.NoError(t, errors.Unwrap(err), name) // the commands' errors are found, but none of them is the call's
	}
}

// TestClientBulkWriteHasNewerOptions: it limits its retries as other methods do, and begins behind what its session has read.
func TestClientBulkWriteHasNewerOptions(t *testing.T) {
	bw := &clientBulkWrite{maxAdaptiveRetries: 3, enableOverloadRetargeting: true}
	op := bw.withNewerOptions(driver.Operation{})
	assert.Equal(t, []any{uint(3), true, true}, []any{op.MaxAdaptiveRetries, op.EnableOverloadRetargeting, op.SendAfterClusterTime})
}
