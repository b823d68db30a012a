package samples_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/lab/dashboard/internal/samples"
)

// serve serves metrics in Prometheus' text format.
func serve(t *testing.T, status int, metrics string) samples.Target {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, metrics)
	}))
	t.Cleanup(server.Close)
	return samples.Target{URL: server.URL, Job: "shop"}
}

func TestScrape(t *testing.T) {
	target := serve(t, http.StatusOK, "# TYPE a counter\na{b=\"2\"} 7\na{b=\"1\"} 5\n# TYPE c gauge\nc 1.5\n")
	now := time.UnixMilli(1_000)
	var store samples.Store
	for range 2 {
		vector, err := target.Scrape(t.Context(), now)
		require.NoError(t, err)
		store.Add(vector)
		now = now.Add(time.Second)
	}
	assert.Equal(t, 3, store.Len())
	instance := strings.TrimPrefix(target.URL, "http://")
	one := labels.FromStrings("__name__", "a", "b", "1", "instance", instance, "job", "shop")
	assert.Equal(t, []promql.Series{{Metric: one, Floats: []promql.FPoint{{T: 1000, F: 5}, {T: 2000, F: 5}}}},
		store.Select(labels.MustNewMatcher(labels.MatchRegexp, "b", "1|3")))
	assert.Equal(t, []string{"1", "2"}, store.LabelValues("b"))
	assert.Equal(t, []string{"shop"}, store.LabelValues("job", labels.MustNewMatcher(labels.MatchEqual, "__name__", "c")))
	assert.Empty(t, store.LabelValues("b", labels.MustNewMatcher(labels.MatchEqual, "__name__", "c")))
}

func TestScrapeThatFails(t *testing.T) {
	_, err := serve(t, http.StatusInternalServerError, "").Scrape(t.Context(), time.Now())
	assert.ErrorContains(t, err, "500 Internal Server Error")
	_, err = serve(t, http.StatusOK, "a{b= 7\n").Scrape(t.Context(), time.Now())
	assert.ErrorContains(t, err, "text format parsing error")
	_, err = samples.Target{URL: "http://127.0.0.1:0"}.Scrape(t.Context(), time.Now())
	assert.Error(t, err)
}
