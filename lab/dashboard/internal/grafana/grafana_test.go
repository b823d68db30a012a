package grafana_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/lab/dashboard/internal/grafana"
)

func dashboardText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../../contrib/prometheus/dashboard.json")
	require.NoError(t, err)
	return string(text)
}

func TestCheck(t *testing.T) {
	text := dashboardText(t)
	dashboard, err := grafana.Parse([]byte(text))
	require.NoError(t, err)
	assert.Empty(t, dashboard.Check())

	for _, test := range []struct{ old, mistake, want string }{
		{`"title": "MongoDB driver: retries"`, `"title": ""`, "the dashboard has no title"},
		{`"uid": "mongodb-driver-retries"`, `"uid": "retries"`, `the UID "retries" is not`},
		{`"schemaVersion": 39,`, ``, "the dashboard has no schemaVersion"},
		{`{"from": "now-1h", "to": "now"}`, `{}`, "the dashboard has no time range"},
		{`"label": "Job", `, ``, "variable job: it has no label"},
		{`"allValue": ".*", `, ``, "variable job: it has no allValue"},
		{`"refresh": 2, `, ``, "variable job: it is never queried"},
		{`"name": "job", "type": "query"`, `"name": "job", "type": "custom"`, `variable job: its type is "custom"`},
		{`"title": "Tokens left"`, `"title": ""`, `panel 4 "": it has no title`},
		{`"description": "Of clients with`, `"about": "Of clients with`, `panel 4 "Tokens left": it has no description`},
		{`"type": "timeseries", "title": "Tokens left"`, `"type": "graph", "title": "Tokens left"`, `its type is "graph"`},
		{`"unit": "none"`, `"unit": "tokens"`, `its unit "tokens" is none of`},
		{`"id": 4`, `"id": 3`, "another panel has its ID"},
		{`{"x": 12, "y": 8, "w": 12, "h": 8}`, `{"x": 12, "y": 8, "w": 16, "h": 8}`, "it is outside of the grid"},
		{`{"x": 12, "y": 8, "w": 12, "h": 8}`, `{"x": 12, "y": 6, "w": 12, "h": 8}`, `it overlaps "Operations that ended`},
		{`"refId": "B"`, `"refId": "A"`, "a query has no refId, or another's"},
		{`"legendFormat": "median"`, `"legend": "median"`, "query A has no legend"},
		{`"uid": "${datasource}"`, `"uid": "${source}"`, "its data source, prometheus ${source}, is not that of a variable"},
		{`"datasource": {`, `"source": {`, `panel 4 "Tokens left": it has no data source`},
	} {
		t.Run(test.want, func(t *testing.T) {
			require.Contains(t, text, test.old)
			dashboard, err := grafana.Parse([]byte(strings.ReplaceAll(text, test.old, test.mistake)))
			require.NoError(t, err)
			assert.Contains(t, strings.Join(dashboard.Check(), "\n"), test.want)
		})
	}
}

func TestParse(t *testing.T) {
	_, err := grafana.Parse([]byte(`{"panels": 1}`))
	assert.ErrorContains(t, err, "the dashboard: ")

	dashboard, err := grafana.Parse([]byte(`{"templating": {"list": [{"query": "a"}, {"query": {"refId": "V", "query": "b"}}]}}`))
	require.NoError(t, err)
	assert.Equal(t, grafana.Query("a"), dashboard.Templating.List[0].Query)
	assert.Equal(t, grafana.Query("b"), dashboard.Templating.List[1].Query)
}

func TestExpand(t *testing.T) {
	dashboard, err := grafana.Parse([]byte(`{"templating": {"list": [
		{"name": "datasource", "type": "datasource", "query": "prometheus"},
		{"name": "job", "type": "query", "includeAll": true, "allValue": ".+"}
	]}}`))
	require.NoError(t, err)
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	short := grafana.View{From: start, To: start.Add(time.Minute), ScrapeInterval: time.Second}
	day := grafana.View{From: start, To: start.Add(100_000 * time.Second), ScrapeInterval: 15 * time.Second}
	for _, test := range []struct {
		query string
		view  grafana.View
		want  string
	}{
		{`rate(a{job=~"$job"}[$__rate_interval])`, short, `rate(a{job=~".+"}[4s])`},
		{`rate(a{job=~"${job}"}[$__interval])`, short, `rate(a{job=~".+"}[1s])`},
		{`rate(a{job=~"[[job]]"}[$__rate_interval])`, day, `rate(a{job=~".+"}[1m55s])`},
		{`a[5m]`, short, `a[5m]`},
	} {
		expanded, err := dashboard.Expand(test.query, test.view)
		require.NoError(t, err)
		assert.Equal(t, test.want, expanded)
	}
	_, err = dashboard.Expand(`a{b="$jobs", c="${datasource}"}`, short)
	assert.EqualError(t, err, "there is no variable $jobs, ${datasource}")
}

func TestLabelValues(t *testing.T) {
	selector, label, err := grafana.LabelValues(`label_values(a{b=~"x,y"}, job)`)
	require.NoError(t, err)
	assert.Equal(t, []string{`a{b=~"x,y"}`, "job"}, []string{selector, label})
}

func TestLegend(t *testing.T) {
	label := func(name string) string { return map[string]string{"a": "1", "b": "2"}[name] }
	name, missing := grafana.Target{LegendFormat: "{{a}}: {{ b }}"}.Legend(label)
	assert.Equal(t, "1: 2", name)
	assert.Empty(t, missing)
	name, missing = grafana.Target{LegendFormat: "{{a}} {{c}}"}.Legend(label)
	assert.Equal(t, "1", name)
	assert.Equal(t, []string{"c"}, missing)
}
