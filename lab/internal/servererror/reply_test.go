package servererror

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

// given returns the reply that give gives.
func given(t *testing.T, give func(*proxy.Request, proxy.ReplyFunc) error) string {
	t.Helper()
	var got bson.Raw
	req := &proxy.Request{Message: &wire.Message{}}
	require.NoError(t, give(req, func(m *wire.Message) error {
		got = m.Body
		return got.Validate()
	}))
	return got.String()
}

func TestReplies(t *testing.T) {
	assert.JSONEq(t, `{"was": true, "ok": {"$numberDouble": "1.0"}}`, given(t, func(req *proxy.Request, reply proxy.ReplyFunc) error {
		return OK(req, reply, bson.E{Key: "was", Value: true})
	}))
	assert.JSONEq(t, `{"ok": {"$numberDouble": "0.0"}, "errmsg": "no 1", "code": {"$numberInt": "2"}, "codeName": "BadValue"}`,
		given(t, Errorf(CodeBadValue, "no %d", 1).Send))
	full := &Error{Code: 1_234_567, Labels: []string{"RetryableError"}, Extra: bson.D{{Key: "x", Value: "y"}}}
	assert.JSONEq(t, `{"ok": {"$numberDouble": "0.0"}, "errmsg": "", "code": {"$numberInt": "1234567"},
		"codeName": "Location1234567", "errorLabels": ["RetryableError"], "x": "y"}`, given(t, full.Send))
}
