package evaluate_test

import (
	"context"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/event"

	mongoprom "mongofork.internal/prometheus"
	"mongofork/lab/dashboard/internal/evaluate"
	"mongofork/lab/dashboard/internal/grafana"
	"mongofork/lab/dashboard/internal/samples"
)

// dashboardText returns the dashboard that users get.
func dashboardText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../../contrib/prometheus/dashboard.json")
	require.NoError(t, err)
	return string(text)
}

func parse(t *testing.T, text string) *grafana.Dashboard {
	t.Helper()
	dashboard, err := grafana.Parse([]byte(text))
	require.NoError(t, err)
	return dashboard
}

// scraped returns the samples of half a minute in which the collector's client makes such decisions each second.
func scraped(t *testing.T, publish func(*event.RetryMonitor)) (*samples.Store, grafana.View) {
	t.Helper()
	collector := mongoprom.NewCollector(prometheus.Labels{"client": "orders"})
	collector.ObserveTokens(func() (float64, bool) { return 500, true })
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(collector))
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	defer server.Close()

	const seconds = 30
	store, start := &samples.Store{}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	target := samples.Target{URL: server.URL, Job: "shop"}
	for second := range seconds {
		publish(collector.Monitor())
		vector, err := target.Scrape(t.Context(), start.Add(time.Duration(second)*time.Second))
		require.NoError(t, err)
		store.Add(vector)
	}
	return store, grafana.View{From: start, To: start.Add(seconds * time.Second), ScrapeInterval: time.Second}
}

// overload publishes what two operations of a client see of an overload.
func overload(monitor *event.RetryMonitor) {
	ctx := context.Background()
	for _, decision := range []event.RetryDecidedEvent{
		{WillRetry: true, Backoff: 70 * time.Millisecond, Reason: event.RetryReasonOverloaded},
		{WillRetry: true, Backoff: 150 * time.Millisecond, Reason: event.RetryReasonOverloaded},
		{Reason: event.RetryReasonBucketEmpty},
	} {
		monitor.Decided(ctx, &decision)
	}
	monitor.Finished(ctx, &event.RetryFinishedEvent{Retries: 2})
}

func TestDashboardIsFilled(t *testing.T) {
	store, view := scraped(t, overload)
	dashboard := parse(t, dashboardText(t))
	panels, problems := evaluate.Dashboard(t.Context(), dashboard, store, view)
	assert.Empty(t, problems)

	shown := map[string]float64{}
	for _, panel := range panels {
		for _, series := range panel.Series {
			last, _ := series.Last()
			shown[panel.Title+"/"+series.Name] = last
		}
	}
	assert.InDelta(t, 2, shown["Decisions after failed attempts/retry: overloaded"], 1e-9)
	assert.InDelta(t, 1, shown["Decisions after failed attempts/refused: bucketEmpty"], 1e-9)
	assert.InDelta(t, 1, shown["Operations that ended after retries/succeeded"], 1e-9)
	assert.InDelta(t, 0.1, shown["Backoff before a retry/median"], 1e-9, "half of the backoffs are in the bucket up to 0.1 s")
	assert.Contains(t, evaluate.Table(panels), "500.000")
}

func TestDashboardWithoutRetries(t *testing.T) {
	store, view := scraped(t, func(*event.RetryMonitor) {})
	_, problems := evaluate.Dashboard(t.Context(), parse(t, dashboardText(t)), store, view)
	const nothing = ": nothing to see, as no value is above zero"
	assert.Equal(t, []string{
		`panel "Decisions after failed attempts", query A` + nothing,
		`panel "Operations that ended after retries", query A` + nothing,
		`panel "Backoff before a retry", query A` + nothing,
		`panel "Backoff before a retry", query B` + nothing,
	}, problems)
}

func TestDashboardWithMistakes(t *testing.T) {
	store, view := scraped(t, overload)
	text := dashboardText(t)
	const tokens, failed = `panel "Tokens left", query A: `, `panel "Operations that ended after retries", query A: `
	for name, test := range map[string]struct{ old, mistake, want string }{
		"misspelled metric":       {`"mongodb_driver_retry_tokens{`, `"mongodb_driver_retry_token{`, tokens + "no data"},
		"misspelled label":        {`"mongodb_driver_retry_tokens{job=`, `"mongodb_driver_retry_tokens{jobs!=\"\", job=`, tokens + "no data"},
		"no PromQL":               {`sum by (outcome) (`, `sum by (outcome) ((`, failed + "1:"},
		"rate of a gauge":         {`"mongodb_driver_retry_tokens{job=~\"$job\", instance=~\"$instance\"}"`, `"rate(mongodb_driver_retry_tokens[1m])"`, "metric might not be a counter"},
		"no buckets":              {`sum by (le)`, `sum by (job)`, `bucket label "le" is missing`},
		"label summed away":       {`sum by (verdict, reason)`, `sum by (verdict)`, "and a series {verdict=\"refused\"} has no reason"},
		"one name for two":        {`"{{outcome}}"`, `"operations"`, failed + `another series of the panel is called "operations" as well`},
		"unknown variable":        {`mongodb_driver_retry_tokens{job=~\"$job\"`, `mongodb_driver_retry_tokens{job=~\"$jobs\"`, tokens + "there is no variable $jobs"},
		"variable without values": {`decisions_total, job)`, `decisions_total, jobs)`, "variable job: label_values(mongodb_driver_retry_decisions_total, jobs) has no values"},
		"variable of a metric":    {`label_values(mongodb_driver_retry_decisions_total, job)`, `label_values(decisions_total, job)`, "has no values"},
		"no label_values":         {`label_values(mongodb_driver_retry_decisions_total, job)`, `metrics(job)`, `variable job: "metrics(job)" is not of the form`},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, text, test.old)
			dashboard := parse(t, strings.ReplaceAll(text, test.old, test.mistake))
			_, problems := evaluate.Dashboard(t.Context(), dashboard, store, view)
			assert.Contains(t, strings.Join(problems, "\n"), test.want)
		})
	}
}
