package servererror

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"go.mongodb.org/mongo-driver/v2/bson"
)

func TestReplies(t *testing.T) {
	assert.JSONEq(t, `{"was": true, "ok": {"$numberDouble": "1.0"}}`, OK(bson.E{Key: "was", Value: true}).String())
	assert.JSONEq(t, `{"ok": {"$numberDouble": "0.0"}, "errmsg": "no 1", "code": {"$numberInt": "2"}, "codeName": "BadValue"}`,
		Errorf(CodeBadValue, "no %d", 1).Reply().String())
	full := &Error{Code: 1_234_567, Labels: []string{"RetryableError"}, Extra: bson.D{{Key: "x", Value: "y"}}}
	assert.JSONEq(t, `{"ok": {"$numberDouble": "0.0"}, "errmsg": "", "code": {"$numberInt": "1234567"},
		"codeName": "Location1234567", "errorLabels": ["RetryableError"], "x": "y"}`, full.Reply().String())
}
