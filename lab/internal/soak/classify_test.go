package soak

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"
)

func TestClassify(t *testing.T) {
	labelled := func(labels ...string) error { return mongo.CommandError{Code: 1, Labels: labels} }
	for name, test := range map[string]struct {
		err        error
		class      string
		documented bool
	}{
		"a label":               {labelled("RetryableWriteError"), "RetryableWriteError", true},
		"the telling one":       {labelled("RetryableError", "SystemOverloadedError"), "SystemOverloadedError", true},
		"a label within":        {fmt.Errorf("x: %w", labelled("TransientTransactionError")), "TransientTransactionError", true},
		"of a write":            {mongo.WriteException{Labels: []string{"RetryableWriteError"}}, "RetryableWriteError", true},
		"an unknown label":      {labelled("Nonsense"), "", false},
		"not primary":           {mongo.CommandError{Code: 10107}, "NotWritablePrimary", true},
		"state change":          {mongo.CommandError{Code: 11602}, "InterruptedDueToReplStateChange", true},
		"shutdown":              {mongo.CommandError{Code: 91}, "ShutdownInProgress", true},
		"a cursor that is gone": {mongo.CommandError{Code: 43}, "CursorNotFound", true},
		"a snapshot too early":  {mongo.CommandError{Code: 246}, "SnapshotUnavailable", true},
		"another code":          {mongo.CommandError{Code: 11000}, "", false},
		"selection":             {topology.ServerSelectionError{Wrapped: errors.New("x")}, "server selection", true},
		"wait queue":            {topology.WaitQueueTimeoutError{}, "wait queue", true},
		"deadline":              {fmt.Errorf("x: %w", context.DeadlineExceeded), "timeout", true},
		"an error of nobody's":  {errors.New("x"), "", false},
	} {
		class, documented := classify(test.err)
		assert.Equal(t, test.class, class, name)
		assert.Equal(t, test.documented, documented, name)
	}
}
