package grafana

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/prometheus/common/model"
)

// View is how a dashboard is looked at.
type View struct {
	From, To time.Time
	// ScrapeInterval is that of the data source's settings.
	ScrapeInterval time.Duration
}

// maxDataPoints is how many points a series of a panel has at most, about one for each pixel.
const maxDataPoints = 1000

// Interval returns the time from one point of a series to the next, Grafana's $__interval but for its rounding.
func (v View) Interval() time.Duration {
	return max(v.To.Sub(v.From)/maxDataPoints, v.ScrapeInterval)
}

// rateInterval returns Grafana's $__rate_interval: rates see at least four scrapes, and no sample is left out between two
// points.
func (v View) rateInterval() time.Duration {
	return max(v.Interval()+v.ScrapeInterval, 4*v.ScrapeInterval)
}

// variable is a use of a variable, in one of the forms that Grafana knows.
var variable = regexp.MustCompile(`\$(\w+)|\$\{(\w+)\}|\[\[(\w+)\]\]`)

// Expand replaces the variables of a query. Those of the dashboard are replaced by what "All" stands for, which they have
// when the dashboard is opened.
func (d *Dashboard) Expand(query string, v View) (string, error) {
	values := map[string]string{
		"__interval":      model.Duration(v.Interval()).String(),
		"__rate_interval": model.Duration(v.rateInterval()).String(),
	}
	for _, variable := range d.Templating.List {
		if variable.Type == "query" && variable.IncludeAll {
			values[variable.Name] = variable.AllValue
		}
	}
	var unknown []string
	expanded := variable.ReplaceAllStringFunc(query, func(use string) string {
		name := strings.Trim(use, "${}[]")
		value, ok := values[name]
		if !ok {
			unknown = append(unknown, use)
		}
		return value
	})
	if len(unknown) > 0 {
		return "", fmt.Errorf("there is no variable %s", strings.Join(unknown, ", "))
	}
	return expanded, nil
}

// labelValues is the query of a variable: label_values(selector, label).
var labelValues = regexp.MustCompile(`^label_values\((.+),\s*(\w+)\s*\)$`)

// LabelValues returns the selector and the label of a query of the form label_values(selector, label).
func LabelValues(query string) (selector, label string, err error) {
	match := labelValues.FindStringSubmatch(query)
	if match == nil {
		return "", "", fmt.Errorf("%q is not of the form label_values(selector, label)", query)
	}
	return strings.TrimSpace(match[1]), match[2], nil
}

var legendLabel = regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`)

// Legend returns the name of a series by its query's legend, and the labels that the series lacks for it. Grafana leaves
// those out.
func (t Target) Legend(label func(string) string) (name string, missing []string) {
	name = legendLabel.ReplaceAllStringFunc(t.LegendFormat, func(use string) string {
		key := strings.TrimSpace(strings.Trim(use, "{}"))
		value := label(key)
		if value == "" {
			missing = append(missing, key)
		}
		return value
	})
	return strings.TrimSpace(name), missing
}
