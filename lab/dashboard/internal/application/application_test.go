package application_test

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/lab/dashboard/internal/application"
)

// nobody is a server that is not there.
const nobody = "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=10"

func TestRun(t *testing.T) {
	app, err := application.Connect(nobody,
		application.Load{Client: "orders", Rate: 100, Timeout: 50 * time.Millisecond, Writes: true},
		application.Load{Client: "reports", Rate: 10, Timeout: 50 * time.Millisecond})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- app.Run(ctx) }()

	response, err := http.Get(app.URL())
	require.NoError(t, err)
	defer response.Body.Close()
	metrics, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	assert.Contains(t, string(metrics), `mongodb_driver_retry_tokens{client="orders"} 1000`)
	assert.Contains(t, string(metrics), `mongodb_driver_retry_tokens{client="reports"} 1000`)

	failed := regexp.MustCompile(`client orders: \d+ operations, [1-9]\d* failed, 0 not begun.*
client reports: \d+ operations, [1-9]\d* failed, 0 not begun`)
	assert.Eventually(t, func() bool { return failed.MatchString(strings.Join(app.Summary(), "\n")) },
		10*time.Second, 10*time.Millisecond)
	stop()
	require.NoError(t, <-ended)
	assert.ErrorContains(t, app.Prepare(t.Context()), "drop the database dashboard: ")
}

func TestConnectTwoClientsOfOneName(t *testing.T) {
	_, err := application.Connect(nobody, application.Load{Client: "orders"}, application.Load{Client: "orders"})
	assert.ErrorContains(t, err, "duplicate")
}
