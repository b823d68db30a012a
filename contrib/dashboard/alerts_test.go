package dashboard

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/event"
)

// TestAlerts checks that the adapter's rules are rules, ask for metrics and labels that there are, and lead to the runbook.
func TestAlerts(t *testing.T) {
	t.Parallel()
	file, problems := rulefmt.ParseFile(filepath.Join("..", "prometheus", "alerts.yaml"), false, model.UTF8Validation)
	require.Empty(t, problems)
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "runbook.md"))
	require.NoError(t, err)
	var described []string
	for _, heading := range regexp.MustCompile(`(?m)^### (\w+)$`).FindAllStringSubmatch(string(page), -1) {
		described = append(described, heading[1])
	}
	var alerts []string
	exported := exportedMetrics(t)
	for _, rule := range file.Groups[0].Rules {
		alerts = append(alerts, rule.Alert)
		used, err := metricsOf(rule.Expr)
		require.NoError(t, err, rule.Alert)
		require.NotEmpty(t, used, rule.Alert)
		for name, wanted := range used {
			assert.Subset(t, exported[name], wanted, "%s: labels of %s", rule.Alert, name)
		}
		assert.NotEmpty(t, rule.Labels["severity"], rule.Alert)
		assert.NotEmpty(t, rule.Annotations["summary"], rule.Alert)
		assert.Equal(t, "docs/runbook.md#"+strings.ToLower(rule.Alert), rule.Annotations["runbook_url"])
	}
	assert.Equal(t, alerts, described)
}

// TestReasons checks that the page names the driver's reasons, and that the adapter starts with those verdicts that the page says.
// Ordinary errors (notRetryable) are not counted.
func TestReasons(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "observability.md"))
	require.NoError(t, err)
	source, err := os.ReadFile(filepath.Join("..", "..", "internal", "retry", "verdict.go"))
	require.NoError(t, err)
	var reasons, documented, wanted []string
	for _, found := range regexp.MustCompile(`Reason += "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
		reasons = append(reasons, found[1])
	}
	row := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (after a backoff|at once|no)(; no)?")
	for _, row := range row.FindAllStringSubmatch(string(page), -1) {
		documented = append(documented, row[1])
		if row[2] != "no" {
			wanted = append(wanted, "retry "+row[1])
		}
		if (row[2] == "no" || row[3] != "") && row[1] != event.RetryReasonNotRetryable {
			wanted = append(wanted, "refused "+row[1])
		}
	}
	assert.Len(t, documented, 10)
	assert.ElementsMatch(t, reasons, documented)
	assert.ElementsMatch(t, wanted, initialDecisions(t))
}

// initialDecisions returns the verdicts and reasons of normal operations that are there from the start.
func initialDecisions(t *testing.T) (decisions []string) {
	t.Helper()
	for _, family := range gather(t, nil) {
		for _, metric := range family.GetMetric() {
			has := labelsOf(metric)
			if family.GetName() == "mongodb_driver_retry_decisions_total" && has["criticality"] == "normal" {
				decisions = append(decisions, has["verdict"]+" "+has["reason"])
			}
		}
	}
	return decisions
}

func labelsOf(metric *dto.Metric) map[string]string {
	labels := map[string]string{}
	for _, label := range metric.GetLabel() {
		labels[label.GetName()] = label.GetValue()
	}
	return labels
}
