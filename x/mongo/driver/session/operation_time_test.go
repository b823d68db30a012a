package session

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
)

func TestAdvanceOperationTime(t *testing.T) {
	zero, early, late := bson.Timestamp{}, bson.Timestamp{T: 1, I: 1}, bson.Timestamp{T: 1, I: 2}

	for _, tc := range []struct {
		name  string
		times []bson.Timestamp
		want  *bson.Timestamp
	}{
		{name: "zero first", times: []bson.Timestamp{zero}, want: nil},
		{name: "zero, then a time", times: []bson.Timestamp{zero, early}, want: &early},
		{name: "a time, then zero", times: []bson.Timestamp{early, zero}, want: &early},
		{name: "forward", times: []bson.Timestamp{early, late}, want: &late},
		{name: "never back", times: []bson.Timestamp{late, early}, want: &late},
	} {
		t.Run(tc.name, func(t *testing.T) {
			client := &Client{}
			for i := range tc.times {
				require.NoError(t, client.AdvanceOperationTime(&tc.times[i]))
			}
			assert.Equal(t, tc.want, client.OperationTime)
		})
	}

	t.Run("no time", func(t *testing.T) {
		client := &Client{}
		require.NoError(t, client.AdvanceOperationTime(nil))
		assert.Nil(t, client.OperationTime)
	})
	t.Run("after the end", func(t *testing.T) {
		client := &Client{Terminated: true}
		assert.Equal(t, ErrSessionEnded, client.AdvanceOperationTime(&zero))
	})
}
