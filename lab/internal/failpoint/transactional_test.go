package failpoint

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

func TestTransactionalWriteIsCommittedAndItsReplyLost(t *testing.T) {
	b := newBench(t)
	b.set(t, transactionalWriteName, `{"skip": 0}`, `{}`)
	const insert = `{"insert": "c", "documents": [{}], "lsid": {"id": 1}, "txnNumber": 1}`
	reply, err := b.run(t, "d", insert)
	assert.ErrorIs(t, err, proxy.ErrClose)
	assert.Empty(t, reply)
	assert.Equal(t, []string{"insert"}, b.forwarded)

	reply, err = b.run(t, "d", insert)
	require.NoError(t, err, "a retry finds the write done, and commits nothing")
	assert.Equal(t, passed, reply)
}

func TestTransactionalWriteIsNotCommitted(t *testing.T) {
	b := newBench(t)
	b.set(t, transactionalWriteName, `{"times": 2}`, `{"failBeforeCommitExceptionCode": 1}`)
	const insert = `{"insert": "c", "documents": [{}], "lsid": {"id": 1}, "txnNumber": 1}`
	for range 2 {
		_, err := b.run(t, "d", insert)
		assert.ErrorIs(t, err, proxy.ErrClose)
		assert.Empty(t, b.forwarded)
	}
	reply, err := b.run(t, "d", insert)
	require.NoError(t, err)
	assert.Equal(t, passed, reply)

	b.set(t, transactionalWriteName, `{"times": 1}`, `{"failBeforeCommitExceptionCode": 91, "closeConnection": false}`)
	reply, err = b.run(t, "d", `{"insert": "c", "documents": [{}], "lsid": {"id": 1}, "txnNumber": 2}`)
	require.NoError(t, err)
	assert.Contains(t, reply, `"code":91,"codeName":"ShutdownInProgress","errorLabels":["RetryableWriteError"]`)
	assert.Equal(t, []string{"insert"}, b.forwarded)
}

func TestTransactionalWriteThatFailedIsNotDone(t *testing.T) {
	b := newBench(t)
	b.backend = bson.D{{Key: "ok", Value: 0}}
	const insert = `{"insert": "c", "documents": [{}], "lsid": {"id": 1}, "txnNumber": 1}`
	_, err := b.run(t, "d", insert)
	require.NoError(t, err)
	b.set(t, transactionalWriteName, `{"times": 1}`, `{}`)
	_, err = b.run(t, "d", insert)
	assert.ErrorIs(t, err, proxy.ErrClose)
}

// Each statement is a chance of its own, as it is to the server.
func TestStatementsAreCounted(t *testing.T) {
	const last = `{"insert": "c", "documents": [{}], "lsid": {"id": 1}, "txnNumber": 99}`
	for command, statements := range map[string]int{
		`{"insert": "c", "documents": [{}, {}], "txnNumber": 1}`:                  2,
		`{"update": "c", "updates": [{}], "txnNumber": 1}`:                        1,
		`{"delete": "c", "deletes": [{}], "txnNumber": 1}`:                        1,
		`{"bulkWrite": 1, "ops": [{}, {}, {}], "txnNumber": 1}`:                   3,
		`{"findAndModify": "c", "txnNumber": 1}`:                                  1,
		`{"commitTransaction": 1, "txnNumber": 1, "autocommit": false}`:           1,
		`{"abortTransaction": 1, "txnNumber": 1, "autocommit": false}`:            0,
		`{"insert": "c", "documents": [{}], "txnNumber": 1, "autocommit": false}`: 0,
		`{"insert": "c", "documents": [{}]}`:                                      0,
		`{"find": "c", "txnNumber": 1}`:                                           0,
		`{"insert": "c", "documents": 1, "txnNumber": 1}`:                         0,
	} {
		t.Run(command, func(t *testing.T) {
			b := newBench(t)
			b.set(t, transactionalWriteName, `{"skip": `+strconv.Itoa(statements)+`}`, `{}`)
			_, err := b.run(t, "d", command)
			require.NoError(t, err)
			_, err = b.run(t, "d", last)
			assert.ErrorIs(t, err, proxy.ErrClose)
		})
	}
}

func TestStatementsBesideTheBody(t *testing.T) {
	req := request(t, "d", `{"insert": "c", "txnNumber": 1}`)
	empty := marshal(t, bson.D{})
	req.Message.Content.(*wire.Msg).Sequences = []wire.Sequence{
		{Identifier: "other", Documents: []bson.Raw{empty}},
		{Identifier: "documents", Documents: []bson.Raw{empty, empty, empty}},
	}
	assert.Equal(t, 3, statements(req))
}

func TestExecutedIsBounded(t *testing.T) {
	var done executed
	for i := range 2 * maxSessions {
		done.add(fmt.Sprint(i), 1)
		done.add(fmt.Sprint(i), 2)
	}
	assert.Len(t, done.latest, maxSessions)
	assert.Len(t, done.order, maxSessions)
	assert.True(t, done.has(fmt.Sprint(2*maxSessions-1), 2))
	assert.False(t, done.has(fmt.Sprint(2*maxSessions-1), 1))
	assert.False(t, done.has("0", 2))
}
