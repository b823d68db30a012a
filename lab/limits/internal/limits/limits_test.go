package limits

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"mongofork/lab/internal/overload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// failed returns what is not as it has to be.
func failed(report *Report) []string {
	var names []string
	for _, check := range report.Checks {
		if !check.OK {
			names = append(names, check.Limit+": "+check.What)
		}
	}
	return names
}

// assertUntouched fails unless a fake server has the parameters that it began with.
func assertUntouched(t *testing.T, f *fake) {
	t.Helper()
	assert.Equal(t, overload.Unlimited(), f.requests.Limit())
	assert.Equal(t, overload.Unlimited(), f.connections.Limit())
	assert.Empty(t, f.requests.ExemptApplications())
}

func TestLimitsOfAServer(t *testing.T) {
	t.Parallel()
	f := serve(t, &store{}, overload.RequestRate, true)
	report, err := Run(t.Context(), Config{URI: f.uri, ServerOnly: true})
	require.NoError(t, err)
	assert.Empty(t, failed(report), "%+v", report.Checks)
	assert.False(t, report.Failed())
	assert.Equal(t, "the server itself", report.Where)
	assertUntouched(t, f)
}

func TestFormerParametersAreRestored(t *testing.T) {
	t.Parallel()
	f := serve(t, &store{}, overload.RequestRate, true)
	requests := overload.Limit{RatePerSec: 70, BurstCapacitySecs: 2.5, MaxQueueDepth: 3}
	connections := overload.Limit{RatePerSec: 80, BurstCapacitySecs: 1.5, MaxQueueDepth: 4}
	require.NoError(t, f.requests.SetLimit(requests))
	require.NoError(t, f.connections.SetLimit(connections))
	f.requests.SetExemptApplications([]string{"backup"})
	report, err := Run(t.Context(), Config{URI: f.uri, ServerOnly: true})
	require.NoError(t, err)
	// A queue for requests is left as it is, for servers before 9.0 have none. Who waits in it is not rejected.
	assert.NotContains(t, failed(report), "both: all parameters have their former values")
	assert.Equal(t, requests, f.requests.Limit())
	assert.Equal(t, connections, f.connections.Limit())
	assert.Equal(t, []string{"backup"}, f.requests.ExemptApplications())
}

// An error without the label RetryableError is not retried, and so is one that the run has to find.
func TestRejectionsThatAreNotRetryable(t *testing.T) {
	t.Parallel()
	f := serve(t, &store{}, overload.Interrupted, true)
	report, err := Run(t.Context(), Config{URI: f.uri})
	require.NoError(t, err)
	assert.Subset(t, failed(report), []string{
		"requests: without retries, operations fail, with both labels",
		"requests: all failed attempts have both labels",
		"requests: all operations succeed",
	})
	assert.True(t, report.Failed())
	assertUntouched(t, f)
}

func TestServerThatLosesWrites(t *testing.T) {
	t.Parallel()
	f := serve(t, &store{loses: true}, overload.RequestRate, true)
	report, err := Run(t.Context(), Config{URI: f.uri})
	require.NoError(t, err)
	assert.Equal(t, []string{
		"requests: every acknowledged write is there once", "connections: every acknowledged write is there once",
	}, failed(report))
}

func TestServerWithoutLimits(t *testing.T) {
	t.Parallel()
	for _, old := range []bool{false, true} {
		f := serve(t, &store{old: old}, overload.RequestRate, false)
		_, err := Run(t.Context(), Config{URI: f.uri, ServerOnly: true})
		assert.ErrorContains(t, err, "the server has no ingressRequestRateLimiterEnabled, no ")
		assert.ErrorContains(t, err, "a mongod or mongos of 8.2 or later")
	}

	_, err := Run(t.Context(), Config{URI: "mongodb://a,b"})
	assert.ErrorContains(t, err, "names 2 hosts; name one")
}

func TestInterruptEndsTheLimits(t *testing.T) {
	t.Parallel()
	f := serve(t, &store{}, overload.RequestRate, true)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := Run(ctx, Config{URI: f.uri})
		ended <- err
	}()
	require.Eventually(t, func() bool { return f.requests.Counts().Rejected > 0 }, waveTime, time.Millisecond)
	assert.True(t, f.requests.Limit().Enabled)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	assertUntouched(t, f)
}

func TestWithRetries(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]string{
		"mongodb://a:1":                "mongodb://a:1/?maxAdaptiveRetries=5",
		"mongodb://a:1/":               "mongodb://a:1/?maxAdaptiveRetries=5",
		"mongodb://u:p@a/db":           "mongodb://u:p@a/db?maxAdaptiveRetries=5",
		"mongodb://a/?replicaSet=rs":   "mongodb://a/?replicaSet=rs&maxAdaptiveRetries=5",
		"mongodb://%2Ftmp%2Fa.sock/db": "mongodb://%2Ftmp%2Fa.sock/db?maxAdaptiveRetries=5",
	} {
		assert.Equal(t, want, withRetries(uri))
	}
}
